#include "measurement/events.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weir::bench {
namespace {

struct Column {
  const char* name;
  const char* type;  // NumPy's name of the type
  std::int64_t width;
  std::function<std::int64_t(const Event&)> value;
};

// The columns are little-endian two's complement, like the integers of the machines that Weir runs
// on.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

std::vector<Column> columns_of(int rank,
                               const std::function<std::int64_t(std::int64_t)>& to_run_time) {
  return {
      {"rank", "<i4", 4, [rank](const Event&) { return std::int64_t{rank}; }},
      {"repetition", "<i4", 4, [](const Event& e) { return std::int64_t{e.repetition}; }},
      {"function", "|i1", 1, [](const Event& e) { return std::int64_t{e.function}; }},
      {"operation", "|i1", 1,
       [](const Event& e) { return static_cast<std::int64_t>(e.operation); }},
      {"bin", "<i4", 4, [](const Event& e) { return std::int64_t{e.bin}; }},
      {"gang", "<i4", 4, [](const Event& e) { return std::int64_t{e.gang}; }},
      {"start_ns", "<i8", 8, [to_run_time](const Event& e) { return to_run_time(e.start_ns); }},
      {"end_ns", "<i8", 8, [to_run_time](const Event& e) { return to_run_time(e.end_ns); }},
      {"foreground_ns", "<i8", 8, [](const Event& e) { return e.foreground_ns; }},
      {"bytes", "<i8", 8, [](const Event& e) { return e.bytes; }},
      {"offset_bytes", "<i8", 8, [](const Event& e) { return e.offset_bytes; }},
      {"barrier_wait_ns", "<i8", 8, [](const Event& e) { return e.barrier_wait_ns; }},
      {"token_wait_ns", "<i8", 8, [](const Event& e) { return e.token_wait_ns; }},
  };
}

Status write_all(int descriptor, const std::string& path, std::int64_t offset,
                 std::span<const char> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = pwrite(descriptor, bytes.data() + done, bytes.size() - done,
                                   offset + static_cast<std::int64_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return system_failure("write", path, offset + static_cast<std::int64_t>(done), errno);
    }
    done += static_cast<std::size_t>(written);
  }
  return {};
}

Status write_slice(const std::string& path, std::int64_t offset, std::span<const char> bytes,
                   bool create) {
  const int flags = O_WRONLY | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0);
  const int descriptor = open(path.c_str(), flags, 0644);
  if (descriptor < 0) return system_failure("open", path, -1, errno);
  Status status = write_all(descriptor, path, offset, bytes);
  if (close(descriptor) != 0 && status.ok()) status = system_failure("close", path, -1, errno);
  return status;
}

// Rank 0 creates the folder and every column's header; the others wait, and learn of a failure.
Status create_columns(const Job& job, const std::string& directory, std::span<const Column> columns,
                      std::int64_t total) {
  Status status;
  if (job.rank == 0) {
    if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
      status = system_failure("mkdir", directory, -1, errno);
    }
    for (const Column& column : columns) {
      if (!status) break;
      const std::string header = npy_header(column.type, total);
      status = write_slice(fmt::format("{}/{}.npy", directory, column.name), 0, header, true);
    }
  }
  int failed_rank = none_failed;
  return agree_on(job, std::move(status), &failed_rank);
}

}  // namespace

std::string npy_header(const std::string& type, std::int64_t length) {
  constexpr std::size_t alignment = 64;
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, length);
  constexpr std::size_t preamble = 10;  // magic number, version, length of the dictionary
  const std::size_t padded =
      (preamble + dictionary.size() + 1 + alignment - 1) / alignment * alignment;
  dictionary.append(padded - preamble - dictionary.size() - 1, ' ');
  dictionary += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

Status write_events(const Job& job, const std::string& folder, std::span<const Event> events,
                    const std::function<std::int64_t(std::int64_t)>& to_run_time) {
  const auto count = static_cast<std::int64_t>(events.size());
  std::int64_t before = 0;
  std::int64_t total = 0;
  MPI_Exscan(&count, &before, 1, MPI_INT64_T, MPI_SUM, job.world);
  if (job.rank == 0) before = 0;
  MPI_Allreduce(&count, &total, 1, MPI_INT64_T, MPI_SUM, job.world);

  const std::string directory = folder + "/events";
  const std::vector<Column> columns = columns_of(job.rank, to_run_time);
  if (Status status = create_columns(job, directory, columns, total); !status) return status;
  std::vector<char> bytes;
  for (const Column& column : columns) {
    bytes.resize(static_cast<std::size_t>(count * column.width));
    for (std::size_t i = 0; i < events.size(); ++i) {
      const std::int64_t value = column.value(events[i]);
      std::memcpy(bytes.data() + i * static_cast<std::size_t>(column.width), &value,
                  static_cast<std::size_t>(column.width));
    }
    const auto header = static_cast<std::int64_t>(npy_header(column.type, total).size());
    if (Status status = write_slice(fmt::format("{}/{}.npy", directory, column.name),
                                    header + before * column.width, bytes, false);
        !status) {
      return status;
    }
  }
  return {};
}

}  // namespace weir::bench

#include "workloads/calibrate/probe.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "common/checked.hpp"
#include "common/clock.hpp"
#include "measurement/payload.hpp"
#include "storage/page_cache.hpp"
#include "workloads/madbench/busy_work.hpp"

namespace weir::bench::calibrate {
namespace {

constexpr std::int64_t page_bytes = 4096;
constexpr std::uint64_t payload_seed =
    0x57656972;  // any: what matters is that it is incompressible

// A file system that lets its ranks share nothing is still measured; an error of unlinking is not.
Status remove_if_there(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_failure("unlink", path, -1, errno);
}

}  // namespace

Result<BufferPair> BufferPair::create(std::int64_t bytes_each) {
  BufferPair pair;
  const auto each = checked_round_up(bytes_each, page_bytes);
  const auto both = each ? checked_multiply(*each, 2) : std::nullopt;
  void* memory = nullptr;
  if (both) {
    memory = ::operator new (static_cast<std::size_t>(*both), std::align_val_t{page_bytes},
                             std::nothrow);
  }
  if (memory == nullptr) {
    Error error;
    error.code = ErrorCode::insufficient;
    error.message = "cannot allocate two buffers of " + std::to_string(bytes_each) + " bytes";
    return error;
  }
  std::memset(memory, 1, static_cast<std::size_t>(*both));
  pair.memory_.reset(static_cast<std::byte*>(memory));
  pair.each_ = *each;
  return pair;
}

void BufferPair::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{page_bytes});
}

Probe::Probe(const Job& job, FailureGuard& guard, const ClockOffset& offset, std::string path)
    : job_(job), guard_(guard), offset_(offset), path_(std::move(path)) {}

Status Probe::provide_buffers(std::int64_t bytes) {
  if (buffers_.bytes_each() >= bytes) return {};
  buffers_ = BufferPair();  // never both at once
  Status status;
  if (auto larger = BufferPair::create(bytes)) {
    buffers_ = std::move(larger).value();
  } else {
    status = larger.error();
  }
  return meet(std::move(status));
}

Status Probe::meet(Status mine) { return agree_on(job_, std::move(mine), &failed_rank_); }

Result<std::int64_t> Probe::span(Status mine, const Times& times, Waiting waiting) {
  // One reduction says who failed first, when the first rank began and when the last one ended, on
  // rank 0's clock.
  const bool failed = !mine.ok();
  const std::array<std::int64_t, 3> own{
      -static_cast<std::int64_t>(failed ? job_.rank : none_failed),
      -(times.start_ns + offset_.offset_ns), times.end_ns + offset_.offset_ns};
  std::array<std::int64_t, 3> largest{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(own.data(), largest.data(), 3, MPI_INT64_T, MPI_MAX, job_.world, &request);
  if (waiting == Waiting::asleep) {
    int done = 0;
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0 &&
           request != MPI_REQUEST_NULL) {
      constexpr useconds_t nap_microseconds = 200;
      usleep(nap_microseconds);
      if (seconds_of(monotonic_ns() - times.end_ns) > job_.deadline_seconds) break;
    }
  }
  if (request != MPI_REQUEST_NULL) {
    if (Status status = wait_for(request, job_.deadline_ns(), "barrier"); !status) {
      failed_rank_ = job_.rank;
      return status.error();
    }
  }
  if (const auto lowest = static_cast<int>(-largest[0]); lowest != none_failed) {
    failed_rank_ = lowest;
    if (!failed) return failed_elsewhere(lowest);
    if (mine.error().rank < 0) mine.error().rank = job_.rank;
    return mine.error();
  }
  return std::max<std::int64_t>(1, largest[2] + largest[1]);
}

Result<double> Probe::slowest(double seconds) {
  double largest = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&seconds, &largest, 1, MPI_DOUBLE, MPI_MAX, job_.world, &request);
  if (Status status = wait_for(request, job_.deadline_ns(), "barrier"); !status) {
    failed_rank_ = job_.rank;
    return status.error();
  }
  return largest;
}

Result<double> Probe::memory_copy_one_rank(std::int64_t copies) {
  return copy(copies, job_.rank == 0, 1, Waiting::asleep);
}

Result<double> Probe::memory_copy(std::int64_t copies) {
  return copy(copies, true, job_.size, Waiting::awake);
}

Result<double> Probe::copy(std::int64_t copies, bool takes_part, int ranks, Waiting waiting) {
  if (Status status = meet({}); !status) return status.error();
  Times times{.start_ns = monotonic_ns(), .end_ns = 0};
  for (std::int64_t i = 0; takes_part && i < copies; ++i) {
    std::memcpy(buffers_.at(i + 1), buffers_.at(i),
                static_cast<std::size_t>(buffers_.bytes_each()));
    // The copy must happen although nobody reads it.
    asm volatile("" : : "r"(buffers_.at(i + 1)) : "memory");
  }
  times.end_ns = monotonic_ns();
  const auto span_ns = span({}, times, waiting);
  if (!span_ns) return span_ns.error();
  return static_cast<double>(copies * buffers_.bytes_each()) * ranks / seconds_of(span_ns.value());
}

Status Probe::make_new_file() {
  file_.reset();
  written_ = 0;
  if (Status removed = remove_if_there(path_); !removed) return removed;
  auto opened = storage::File::open(path_, {.write = true, .create = true, .truncate = true});
  if (!opened) return opened.error();
  file_.emplace(std::move(opened).value());
  return {};
}

Status Probe::move(const storage::TransferRequest& request, Times* times) {
  const auto transfer = storage::make_posix_transfer(*file_);
  guard_.entering(request.direction == storage::Direction::read ? "read" : "write", &path_,
                  request.offset);
  times->start_ns = monotonic_ns();
  Status status = transfer->start(request);
  if (status) status = transfer->wait(job_.deadline_ns());
  times->end_ns = monotonic_ns();
  guard_.left();
  return status;
}

Result<double> Probe::move_pieces(std::int64_t pieces, storage::TransferRequest request) {
  std::int64_t total_ns = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    request.buffer = buffers_.at(piece);
    request.offset = piece * request.bytes;
    if (request.direction == storage::Direction::write) {
      const PayloadStream stream{.seed = payload_seed,
                                 .file = static_cast<std::uint32_t>(job_.rank),
                                 .generation = generation_};
      fill_payload(stream, static_cast<std::uint64_t>(request.offset) / 8,
                   {reinterpret_cast<std::uint64_t*>(request.buffer),
                    static_cast<std::size_t>(request.bytes / 8)});
    }
    if (Status status = meet({}); !status) return status.error();
    Times times;
    Status moved = move(request, &times);
    const auto span_ns = span(std::move(moved), times);
    if (!span_ns) return span_ns.error();
    total_ns += span_ns.value();
  }
  return static_cast<double>(pieces * request.bytes) * job_.size / seconds_of(total_ns);
}

Result<double> Probe::write(std::int64_t pieces, std::int64_t piece_bytes,
                            storage::Durability durability) {
  if (Status status = meet(make_new_file()); !status) return status.error();
  ++generation_;
  auto rate = move_pieces(
      pieces,
      {.direction = storage::Direction::write, .bytes = piece_bytes, .durability = durability});
  if (rate) written_ = pieces * piece_bytes;
  return rate;
}

Result<double> Probe::read(std::int64_t pieces, std::int64_t piece_bytes, bool drop) {
  Status status;
  if (drop) status = storage::drop_cached_pages(*file_, 0, pieces * piece_bytes);
  if (status = meet(std::move(status)); !status) return status.error();
  return move_pieces(pieces, {.direction = storage::Direction::read, .bytes = piece_bytes});
}

Result<double> Probe::fsync() {
  if (Status status = meet({}); !status) return status.error();
  const auto transfer = storage::make_posix_transfer(*file_);
  guard_.entering("fsync", &path_, written_);
  Status status = transfer->start({.direction = storage::Direction::write,
                                   .buffer = buffers_.at(0),
                                   .bytes = page_bytes,
                                   .offset = written_,
                                   .durability = storage::Durability::full});
  if (status) status = transfer->wait(job_.deadline_ns());
  guard_.left();
  if (status = meet(std::move(status)); !status) return status.error();
  written_ += page_bytes;
  const storage::TransferTiming timing = transfer->timing();
  return slowest(seconds_of(timing.end_ns - timing.moved_ns));
}

Result<double> Probe::call(std::int64_t calls) {
  if (Status status = meet({}); !status) return status.error();
  const auto transfer = storage::make_posix_transfer(*file_);
  guard_.entering("read", &path_, 0);
  Status status;
  const std::int64_t start_ns = monotonic_ns();
  for (std::int64_t i = 0; status.ok() && i < calls; ++i) {
    status = transfer->start(
        {.direction = storage::Direction::read, .buffer = buffers_.at(0), .bytes = 8});
    if (status) status = transfer->wait(0);
  }
  const double seconds = seconds_of(monotonic_ns() - start_ns);
  guard_.left();
  if (status = meet(std::move(status)); !status) return status.error();
  return slowest(seconds / static_cast<double>(calls));
}

Result<double> Probe::barrier(std::int64_t count) {
  if (Status status = meet({}); !status) return status.error();
  const std::int64_t start_ns = monotonic_ns();
  for (std::int64_t i = 0; i < count; ++i) {
    if (Status status = meet({}); !status) return status.error();
  }
  return slowest(seconds_of(monotonic_ns() - start_ns) / static_cast<double>(count));
}

Result<double> Probe::busy_work(std::int64_t operations) {
  if (Status status = meet({}); !status) return status.error();
  const std::int64_t start_ns = monotonic_ns();
  consumed_ += bench::busy_work(operations, {});
  auto seconds = slowest(seconds_of(std::max<std::int64_t>(1, monotonic_ns() - start_ns)));
  if (!seconds) return seconds;
  return static_cast<double>(operations) / seconds.value();
}

}  // namespace weir::bench::calibrate

#include "aggregation/engines/mpiio_engine.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "engines/system_file.hpp"
#include "ranks/mpi_error.hpp"

namespace weir::aggregation {
namespace {

using storage::EngineFile;
using storage::FileRange;
using storage::FileTraffic;
using storage::Opening;
using storage::Slice;

// MPI counts are ints, and so are lengths in a datatype.
constexpr std::int64_t most_bytes = std::int64_t{1} << 30;

// Builds the error of a write of 0 bytes, for which Open MPI gives no reason.
Error wrote_nothing(const std::string& path, std::int64_t offset, std::int64_t bytes) {
  Error error;
  error.code = ErrorCode::io;
  error.operation = "MPI_File_write_at";
  error.file = path;
  error.offset = offset;
  error.message = fmt::format(
      "MPI_File_write_at wrote none of {} bytes and gave no reason (disk full, quota or file size "
      "limit)",
      bytes);
  return error;
}

class MpiFile final : public EngineFile {
 public:
  MpiFile(std::string path, MPI_File handle, std::vector<std::string> changed_folders)
      : EngineFile(std::move(path), std::move(changed_folders)), handle_(handle) {}
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) (void)close();
  }

  [[nodiscard]] MPI_File handle() const { return handle_; }
  Status close() override {
    if (handle_ == MPI_FILE_NULL) return {};
    const int code = MPI_File_close(&handle_);
    handle_ = MPI_FILE_NULL;
    return code == MPI_SUCCESS ? Status() : ranks::mpi_failure("MPI_File_close", path(), -1, code);
  }

 private:
  MPI_File handle_;
};

// Describes memory for MPI: at most most_bytes of the slices, from byte `skipped` of the first
// slice on.
class Memory {
 public:
  explicit Memory(std::span<const Slice> slices) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> addresses;
    for (const Slice& slice : slices) {
      MPI_Aint address = 0;
      MPI_Get_address(slice.data, &address);
      addresses.push_back(address);
      lengths.push_back(static_cast<int>(slice.bytes));
    }
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), addresses.data(),
                             MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { MPI_Type_free(&type_); }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

class MpiioEngine final : public storage::Engine {
 public:
  [[nodiscard]] std::string_view name() const override { return "mpi-io"; }
  [[nodiscard]] storage::EngineAbilities abilities() const override {
    return {.tells_errno = false};
  }

  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override {
    if (opening.direct) {
      Error error = system_failure("open", path, -1, EINVAL);
      error.code = ErrorCode::unsupported;
      return error;
    }
    std::vector<std::string> changed;
    if (opening.write && opening.bytes_when_made > 0) {
      // MPI can create files, but no folders, and not one file that several processes open
      // separately.
      auto made = storage::open_system_file(path, opening);
      if (!made) return made.error();
      changed = std::move(made.value().changed_folders);
      if (Status closed = made.value().file.close(); !closed.ok()) return closed.error();
    }
    MPI_File handle = MPI_FILE_NULL;
    const int mode = opening.write ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
    const int code = MPI_File_open(MPI_COMM_SELF, path.c_str(), mode, MPI_INFO_NULL, &handle);
    if (code != MPI_SUCCESS) return ranks::mpi_failure("open", path, -1, code);
    MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
    return std::unique_ptr<EngineFile>(std::make_unique<MpiFile>(path, handle, std::move(changed)));
  }

  Status write(std::span<const FileRange> ranges, FileTraffic& traffic) override {
    return move(true, ranges, traffic);
  }
  Status read(std::span<const FileRange> ranges, FileTraffic& traffic) override {
    return move(false, ranges, traffic);
  }

  Status sync(std::span<EngineFile* const> files) override {
    for (const EngineFile* const file : files) {
      const int code = MPI_File_sync(static_cast<const MpiFile*>(file)->handle());
      if (code != MPI_SUCCESS) return ranks::mpi_failure("MPI_File_sync", file->path(), -1, code);
    }
    return {};
  }

 private:
  Status move(bool writing, std::span<const FileRange> ranges, FileTraffic& traffic) {
    for (const FileRange& range : ranges) {
      if (Status moved = move(writing, range, traffic); !moved.ok()) return moved;
    }
    return {};
  }

  Status move(bool writing, const FileRange& range, FileTraffic& traffic) {
    std::vector<Slice> part;
    std::int64_t part_bytes = 0;
    std::int64_t offset = range.offset;
    const auto flush = [&]() -> Status {
      Status moved = move_part(writing, range, part, part_bytes, offset, traffic);
      offset += part_bytes;
      part_bytes = 0;
      part.clear();
      return moved;
    };
    for (Slice slice : range.slices) {
      while (slice.bytes > 0) {
        const std::int64_t bytes = std::min(slice.bytes, most_bytes - part_bytes);
        part.push_back({slice.data, bytes});
        part_bytes += bytes;
        slice = {slice.data + bytes, slice.bytes - bytes};
        if (part_bytes < most_bytes) continue;
        if (Status moved = flush(); !moved.ok()) return moved;
      }
    }
    return part.empty() ? Status() : flush();
  }

  static Status move_part(bool writing, const FileRange& range, std::span<const Slice> part,
                          std::int64_t bytes, std::int64_t offset, FileTraffic& traffic) {
    const MPI_File file = static_cast<const MpiFile&>(*range.file).handle();
    const char* const operation = writing ? "MPI_File_write_at" : "MPI_File_read_at";
    MPI_Status status;
    int code = MPI_SUCCESS;
    if (part.size() == 1) {
      code =
          call(writing, file, offset, part.front().data, static_cast<int>(bytes), MPI_BYTE, status);
    } else {
      const Memory memory(part);
      code = call(writing, file, offset, MPI_BOTTOM, 1, memory.type(), status);
    }
    ++traffic.calls;
    if (code != MPI_SUCCESS) return ranks::mpi_failure(operation, range.file->path(), offset, code);
    MPI_Count moved = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &moved);
    (writing ? traffic.written : traffic.read) += moved;
    traffic.moved += moved;
    if (moved == bytes) return {};
    if (!writing) return ends_early(range, offset + moved);
    // A partial write reports no error of its own; writing the rest does.
    std::vector<Slice> rest;
    std::int64_t skip = moved;
    for (const Slice& slice : part) {
      const std::int64_t skipped = std::min(skip, slice.bytes);
      if (skipped < slice.bytes) rest.push_back({slice.data + skipped, slice.bytes - skipped});
      skip -= skipped;
    }
    if (moved == 0) return wrote_nothing(range.file->path(), offset, bytes);
    return move_part(writing, range, rest, bytes - moved, offset + moved, traffic);
  }

  static int call(bool writing, MPI_File file, std::int64_t offset, void* memory, int count,
                  MPI_Datatype type, MPI_Status& status) {
    return writing ? MPI_File_write_at(file, offset, memory, count, type, &status)
                   : MPI_File_read_at(file, offset, memory, count, type, &status);
  }
};

}  // namespace

std::unique_ptr<storage::Engine> make_mpiio_engine() { return std::make_unique<MpiioEngine>(); }

}  // namespace weir::aggregation

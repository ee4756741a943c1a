#include "aggregation/engines/mpiio_engine.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "engines/blocking_engine.hpp"
#include "engines/range_parts.hpp"
#include "engines/system_file.hpp"
#include "ranks/mpi_error.hpp"
#include "ranks/waiting.hpp"
#include "system/file.hpp"

namespace weir::aggregation {
namespace {

using storage::EngineFile;
using storage::EngineRequest;
using storage::Opening;
using storage::RangePart;
using storage::RangeParts;

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
  // Returns a plain descriptor of the file, through which fsync makes it durable.
  Result<const storage::File*> plain() {
    if (!plain_) {
      auto opened = storage::File::open(path(), {.read = true, .write = true});
      if (!opened) return opened.error();
      plain_.emplace(std::move(opened).value());
    }
    return &*plain_;
  }
  Status close() override {
    plain_.reset();
    if (handle_ == MPI_FILE_NULL) return {};
    const int code = MPI_File_close(&handle_);
    handle_ = MPI_FILE_NULL;
    return code == MPI_SUCCESS ? Status() : ranks::mpi_failure("MPI_File_close", path(), -1, code);
  }

 private:
  MPI_File handle_;
  std::optional<storage::File> plain_;
};

// Describes the memory of a part for MPI.
class Memory {
 public:
  explicit Memory(const RangePart& part) {
    const std::span<const iovec> left = part.left();
    if (left.size() == 1) {
      start_ = left.front().iov_base;
      count_ = static_cast<int>(left.front().iov_len);
      return;
    }
    std::vector<int> lengths;
    std::vector<MPI_Aint> addresses;
    for (const iovec& one : left) {
      MPI_Aint address = 0;
      if (!succeeds(MPI_Get_address(one.iov_base, &address))) return;
      addresses.push_back(address);
      lengths.push_back(static_cast<int>(one.iov_len));
    }
    MPI_Datatype made = MPI_DATATYPE_NULL;
    if (!succeeds(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                                           addresses.data(), MPI_BYTE, &made))) {
      return;
    }
    type_ = made;
    (void)succeeds(MPI_Type_commit(&type_));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  }
  // Returns MPI_SUCCESS, or why MPI cannot describe the memory, which then must not be used.
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] void* start() const { return start_; }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  [[nodiscard]] bool succeeds(int code) {
    code_ = code;
    return code == MPI_SUCCESS;
  }

  int code_ = MPI_SUCCESS;
  void* start_ = MPI_BOTTOM;
  int count_ = 1;
  MPI_Datatype type_ = MPI_BYTE;
};

// A request that is in flight after submit(): its parts are moved one after the other by
// nonblocking calls, then it is made durable.
struct Background {
  EngineRequest* request = nullptr;
  RangeParts parts;
  RangePart part;
  MPI_Request handle = MPI_REQUEST_NULL;
  // MPI has no nonblocking MPI_File_sync; a thread calls fsync instead.
  std::future<Status> sync;
};

class MpiioEngine final : public storage::Engine {
 public:
  MpiioEngine(MPI_Comm communicator, std::function<void(MPI_File, bool)> opened)
      : communicator_(communicator), opened_(std::move(opened)) {}
  MpiioEngine(const MpiioEngine&) = delete;
  MpiioEngine& operator=(const MpiioEngine&) = delete;
  ~MpiioEngine() override {
    for (const auto& one : background_) {
      int done = 0;
      MPI_Status status;
      for (std::int64_t looks = 0; one->handle != MPI_REQUEST_NULL; ++looks) {
        if (test(one->handle, done, status) != MPI_SUCCESS || done != 0) break;
        ranks::yield_or_doze(looks);
      }
    }
  }

  [[nodiscard]] std::string_view name() const override { return "mpi-io"; }
  [[nodiscard]] storage::EngineAbilities abilities() const override {
    return {.in_background = true, .tells_errno = false};
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
    const int mode =
        (opening.write ? MPI_MODE_RDWR : MPI_MODE_RDONLY) | (opening.create ? MPI_MODE_CREATE : 0);
    const int code = MPI_File_open(communicator_, path.c_str(), mode, MPI_INFO_NULL, &handle);
    if (code != MPI_SUCCESS) return ranks::mpi_failure("MPI_File_open", path, -1, code);
    MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
    if (opened_) opened_(handle, opening.write);
    return std::unique_ptr<EngineFile>(std::make_unique<MpiFile>(path, handle, std::move(changed)));
  }

 private:
  void start(EngineRequest& request) override {
    if (!request.in_background) return execute(request);
    background_.push_back(std::make_unique<Background>());
    Background& one = *background_.back();
    one.request = &request;
    one.parts = RangeParts(request.ranges, most_bytes);
    begin_next(one);
  }

  void advance(std::int64_t until_ns) override {
    for (std::int64_t looks = 0;; ++looks) {
      const auto ended = std::stable_partition(background_.begin(), background_.end(),
                                               [](const auto& one) { return !look_at(*one); });
      const bool any = ended != background_.end();
      std::for_each(ended, background_.end(), [this](const auto& one) { end(*one->request); });
      background_.erase(ended, background_.end());
      if (any || background_.empty() || until_ns == 0 || monotonic_ns() >= until_ns) return;
      ranks::yield_or_doze(looks);
    }
  }

  void execute(EngineRequest& request) {
    RangeParts parts(request.ranges, most_bytes);
    for (RangePart part; request.status.ok() && parts.next(part);) {
      while (request.status.ok() && part.bytes > 0) request.status = move_once(request, part);
    }
    moved(request);
    if (request.durability != storage::Durability::none) {
      for (EngineFile* const file : storage::files_of(request)) {
        if (!request.status.ok()) break;
        const int code = MPI_File_sync(static_cast<const MpiFile*>(file)->handle());
        if (code != MPI_SUCCESS) {
          request.status = ranks::mpi_failure("MPI_File_sync", file->path(), -1, code);
        }
      }
    }
    end(request);
  }

  static Status move_once(EngineRequest& request, RangePart& part) {
    const bool writing = request.direction == Direction::write;
    const MPI_File file = static_cast<const MpiFile&>(*part.range->file).handle();
    const Memory memory(part);
    if (memory.code() != MPI_SUCCESS) return not_described(part, memory.code());
    MPI_Status status;
    const int code = writing ? MPI_File_write_at(file, part.offset, memory.start(), memory.count(),
                                                 memory.type(), &status)
                             : MPI_File_read_at(file, part.offset, memory.start(), memory.count(),
                                                memory.type(), &status);
    ++request.traffic.calls;
    return moved_part(request, part, code, status,
                      writing ? "MPI_File_write_at" : "MPI_File_read_at");
  }

  static Status not_described(const RangePart& part, int code) {
    return ranks::mpi_failure("MPI_Type_create_hindexed", part.range->file->path(), part.offset,
                              code);
  }

  // Records what a call moved. A partial write reports no error of its own; writing the rest does.
  static Status moved_part(EngineRequest& request, RangePart& part, int code,
                           const MPI_Status& status, const char* operation) {
    const bool writing = request.direction == Direction::write;
    const std::string& path = part.range->file->path();
    if (code != MPI_SUCCESS) return ranks::mpi_failure(operation, path, part.offset, code);
    MPI_Count bytes = 0;
    if (const int counted = MPI_Get_elements_x(&status, MPI_BYTE, &bytes); counted != MPI_SUCCESS) {
      return ranks::mpi_failure("MPI_Get_elements_x", path, part.offset, counted);
    }
    (writing ? request.traffic.written : request.traffic.read) += bytes;
    request.traffic.moved += bytes;
    if (writing && bytes == 0) return wrote_nothing(path, part.offset, part.bytes);
    const bool is_short = bytes < part.bytes;
    part.advance(bytes);
    return !writing && is_short ? ends_early(*part.range, part.offset) : Status();
  }

  // Begins the rest of the part, the next part, or the sync.
  static void begin_next(Background& one) {
    EngineRequest& request = *one.request;
    const bool writing = request.direction == Direction::write;
    while (request.status.ok() && (one.part.bytes > 0 || one.parts.next(one.part))) {
      const MPI_File file = static_cast<const MpiFile&>(*one.part.range->file).handle();
      // In Open MPI 4.1, a nonblocking read beyond the end of the file never ends.
      MPI_Offset file_bytes = 0;
      if (!writing && MPI_File_get_size(file, &file_bytes) == MPI_SUCCESS &&
          one.part.offset + one.part.bytes > file_bytes) {
        request.status = move_once(request, one.part);
        continue;
      }
      const Memory memory(one.part);
      if (memory.code() != MPI_SUCCESS) {
        request.status = not_described(one.part, memory.code());
        return;
      }
      const int code = writing ? MPI_File_iwrite_at(file, one.part.offset, memory.start(),
                                                    memory.count(), memory.type(), &one.handle)
                               : MPI_File_iread_at(file, one.part.offset, memory.start(),
                                                   memory.count(), memory.type(), &one.handle);
      ++request.traffic.calls;
      if (code == MPI_SUCCESS) return;
      one.handle = MPI_REQUEST_NULL;
      request.status = ranks::mpi_failure(operation_of(request), one.part.range->file->path(),
                                          one.part.offset, code);
    }
    if (!request.status.ok()) return;
    moved(request);
    if (request.durability == storage::Durability::none) return;
    std::vector<const storage::File*> files;
    for (EngineFile* const file : storage::files_of(request)) {
      const auto plain = static_cast<MpiFile*>(file)->plain();
      if (!plain) {
        request.status = plain.error();
        return;
      }
      files.push_back(plain.value());
    }
    one.sync = std::async(std::launch::async, [files, how = request.durability]() -> Status {
      if (how == storage::Durability::data) return storage::sync_data(files);
      for (const storage::File* const file : files) {
        if (Status synced = file->sync(); !synced.ok()) return synced;
      }
      return {};
    });
  }

  // Makes progress. Returns whether the request has ended.
  static bool look_at(Background& one) {
    EngineRequest& request = *one.request;
    if (one.handle != MPI_REQUEST_NULL) {
      int done = 0;
      MPI_Status status;
      const int code = test(one.handle, done, status);
      if (code == MPI_SUCCESS && done == 0) return false;
      one.handle = MPI_REQUEST_NULL;
      request.status = moved_part(request, one.part, code, status, operation_of(request));
      begin_next(one);
      if (one.handle != MPI_REQUEST_NULL) return false;
    }
    if (!one.sync.valid()) return true;
    if (one.sync.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    request.status = one.sync.get();
    return true;
  }

  static const char* operation_of(const EngineRequest& request) {
    return request.direction == Direction::write ? "MPI_File_iwrite_at" : "MPI_File_iread_at";
  }

  // Makes progress and finds out whether the request has ended; it is then freed. A failure is
  // reported once.
  static int test(MPI_Request& handle, int& done, MPI_Status& status) {
#ifdef OPEN_MPI
    // Open MPI 4.1 crashes in MPI_Test when a request of OMPIO has failed.
    const int code = MPI_Request_get_status(handle, &done, &status);
    if (code == MPI_SUCCESS && done != 0) MPI_Request_free(&handle);
    return code;
#else
    // Before MPI 4.1, MPI_Request_get_status need not make progress, and in MPICH it makes none on
    // a request of a file.
    return MPI_Test(&handle, &done, &status);
#endif
  }

  MPI_Comm communicator_;
  std::function<void(MPI_File, bool)> opened_;
  std::vector<std::unique_ptr<Background>> background_;
};

}  // namespace

std::unique_ptr<storage::Engine> make_mpiio_engine(MPI_Comm communicator,
                                                   std::function<void(MPI_File, bool)> opened) {
  return std::make_unique<MpiioEngine>(communicator, std::move(opened));
}

}  // namespace weir::aggregation

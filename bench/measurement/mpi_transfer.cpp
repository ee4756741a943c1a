#include "measurement/mpi_transfer.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <utility>

#include "common/clock.hpp"

namespace weir::bench {
namespace {

using storage::Durability;
using storage::Transfer;
using storage::TransferRequest;
using storage::TransferTiming;

constexpr std::int64_t most_per_call = std::int64_t{1} << 30;  // MPI counts are ints
// A transfer still uses its buffer when its result is no longer needed because another transfer
// failed.
constexpr std::int64_t longest_ending_ns = 600'000'000'000;

Error incomplete(const TransferRequest& request, const std::string& file, std::int64_t moved) {
  Error error;
  error.code = ErrorCode::short_transfer;
  error.operation = request.direction == Direction::read ? "MPI_File_read_at" : "MPI_File_write_at";
  error.file = file;
  error.offset = request.offset + moved;
  error.message = fmt::format(
      "{} moved only {} of {} bytes but reported no error{}", error.operation, moved, request.bytes,
      request.direction == Direction::read ? " (end of file)"
                                           : " (disk full, quota or file size limit)");
  return error;
}

int piece_of(const TransferRequest& request, std::int64_t moved) {
  return static_cast<int>(std::min(request.bytes - moved, most_per_call));
}

class MpiBlockingTransfer final : public Transfer {
 public:
  explicit MpiBlockingTransfer(const MpiFile& file) : file_(file) {}

  Status start(const TransferRequest& request) override {
    timing_.start_ns = monotonic_ns();
    std::int64_t moved = 0;
    while (moved < request.bytes) {
      MPI_Status status;
      const bool reading = request.direction == Direction::read;
      const int piece = piece_of(request, moved);
      const int code = reading
                           ? MPI_File_read_at(file_.handle(), request.offset + moved,
                                              request.buffer + moved, piece, MPI_BYTE, &status)
                           : MPI_File_write_at(file_.handle(), request.offset + moved,
                                               request.buffer + moved, piece, MPI_BYTE, &status);
      if (code != MPI_SUCCESS) {
        return mpi_failure(reading ? "MPI_File_read_at" : "MPI_File_write_at", file_.path(),
                           request.offset + moved, code);
      }
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (count <= 0) return incomplete(request, file_.path(), moved);
      moved += count;
    }
    timing_.moved_ns = timing_.end_ns = monotonic_ns();
    return {};
  }
  Result<bool> poll() override { return true; }
  Status wait(std::int64_t /*deadline_ns*/) override { return {}; }
  [[nodiscard]] TransferTiming timing() const override { return timing_; }
  [[nodiscard]] std::string_view mechanism() const override { return "mpi-io"; }

 private:
  const MpiFile& file_;
  TransferTiming timing_;
};

class MpiBackgroundTransfer final : public Transfer {
 public:
  MpiBackgroundTransfer(const MpiFile& file, const storage::File& descriptor)
      : file_(file), descriptor_(descriptor) {}

  ~MpiBackgroundTransfer() override {
    // The buffer is the caller's and may be freed, so the pending piece must end first.
    const std::int64_t deadline_ns = monotonic_ns() + longest_ending_ns;
    while (stage_ == Stage::moving) {
      int done = 0;
      MPI_Status status;
      if (test_piece(done, status) != MPI_SUCCESS || done != 0) stage_ = Stage::idle;
      if (stage_ == Stage::moving && monotonic_ns() > deadline_ns) {
        fmt::print(stderr, "weir-bench: {}: a transfer begun at offset {} has not ended in {} s\n",
                   file_.path(), request_.offset + moved_, longest_ending_ns / 1'000'000'000);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      sched_yield();
    }
    if (sync_result_.valid()) sync_result_.wait();
  }
  MpiBackgroundTransfer(const MpiBackgroundTransfer&) = delete;
  MpiBackgroundTransfer& operator=(const MpiBackgroundTransfer&) = delete;

  Status start(const TransferRequest& request) override {
    request_ = request;
    moved_ = 0;
    timing_ = {.start_ns = monotonic_ns()};
    return start_piece();
  }

  Result<bool> poll() override {
    if (stage_ == Stage::moving) {
      if (Status status = advance_moving(); !status) {
        stage_ = Stage::idle;
        return status.error();
      }
    }
    if (stage_ == Stage::syncing &&
        sync_result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      stage_ = Stage::idle;
      timing_.end_ns = monotonic_ns();
      if (const int error = sync_result_.get(); error != 0) {
        return system_failure("fsync", file_.path(), request_.offset, error);
      }
    }
    return stage_ == Stage::idle;
  }

  Status wait(std::int64_t deadline_ns) override {
    while (true) {
      const Result<bool> done = poll();
      if (!done) return done.error();
      if (done.value()) return {};
      if (monotonic_ns() > deadline_ns) {
        Error error;
        error.code = ErrorCode::deadline;
        error.operation = request_.direction == Direction::read ? "read" : "write";
        error.file = file_.path();
        error.offset = request_.offset;
        error.message = fmt::format("{} did not end before the deadline", error.operation);
        return error;
      }
      sched_yield();
    }
  }

  [[nodiscard]] TransferTiming timing() const override { return timing_; }
  [[nodiscard]] std::string_view mechanism() const override { return "mpi-io nonblocking"; }

 private:
  enum class Stage { idle, moving, syncing };

  [[nodiscard]] bool reading() const { return request_.direction == Direction::read; }

  Status start_piece() {
    const int piece = piece_of(request_, moved_);
    const int code =
        reading() ? MPI_File_iread_at(file_.handle(), request_.offset + moved_,
                                      request_.buffer + moved_, piece, MPI_BYTE, &request_handle_)
                  : MPI_File_iwrite_at(file_.handle(), request_.offset + moved_,
                                       request_.buffer + moved_, piece, MPI_BYTE, &request_handle_);
    if (code != MPI_SUCCESS) {
      stage_ = Stage::idle;
      return mpi_failure(reading() ? "MPI_File_iread_at" : "MPI_File_iwrite_at", file_.path(),
                         request_.offset + moved_, code);
    }
    stage_ = Stage::moving;
    return {};
  }

  // Makes progress on the piece and finds out whether it has ended; the request is then freed. A
  // failure is reported once.
  int test_piece(int& done, MPI_Status& status) {
#ifdef OPEN_MPI
    // Open MPI 4.1 crashes in MPI_Test when a request of OMPIO has failed.
    const int code = MPI_Request_get_status(request_handle_, &done, &status);
    if (code == MPI_SUCCESS && done != 0) MPI_Request_free(&request_handle_);
    return code;
#else
    // Before MPI 4.1, MPI_Request_get_status need not make progress, and in MPICH it makes none on
    // a request of a file.
    return MPI_Test(&request_handle_, &done, &status);
#endif
  }

  Status advance_moving() {
    int done = 0;
    MPI_Status status;
    const int code = test_piece(done, status);
    if (code != MPI_SUCCESS) {
      return mpi_failure(reading() ? "MPI_File_iread_at" : "MPI_File_iwrite_at", file_.path(),
                         request_.offset + moved_, code);
    }
    if (done == 0) return {};
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count <= 0) return incomplete(request_, file_.path(), moved_);
    moved_ += count;
    if (moved_ < request_.bytes) return start_piece();
    timing_.moved_ns = timing_.end_ns = monotonic_ns();
    if (reading() || request_.durability == Durability::none) {
      stage_ = Stage::idle;
      return {};
    }
    stage_ = Stage::syncing;
    sync_result_ = std::async(
        std::launch::async, [descriptor = descriptor_.descriptor(), how = request_.durability] {
          const int result = how == Durability::full ? fsync(descriptor) : fdatasync(descriptor);
          return result == 0 ? 0 : errno;
        });
    return {};
  }

  const MpiFile& file_;
  const storage::File& descriptor_;
  Stage stage_ = Stage::idle;
  TransferRequest request_;
  std::int64_t moved_ = 0;
  MPI_Request request_handle_ = MPI_REQUEST_NULL;
  std::future<int> sync_result_;
  TransferTiming timing_;
};

}  // namespace

Result<MpiFile> MpiFile::open(MPI_Comm communicator, const std::string& path, bool write,
                              bool create, MPI_Info hints) {
  MPI_File handle = MPI_FILE_NULL;
  const int mode = (write ? MPI_MODE_RDWR : MPI_MODE_RDONLY) | (create ? MPI_MODE_CREATE : 0);
  const int code = MPI_File_open(communicator, path.c_str(), mode, hints, &handle);
  if (code != MPI_SUCCESS) return mpi_failure("MPI_File_open", path, -1, code);
  // Errors come back as codes. This is the default for files, and it is set here because the code
  // depends on it.
  MPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
  return MpiFile(handle, path);
}

MpiFile::MpiFile(MpiFile&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_FILE_NULL)), path_(std::move(other.path_)) {}

MpiFile::~MpiFile() {
  if (handle_ != MPI_FILE_NULL) MPI_File_close(&handle_);
}

Status MpiFile::close() {
  const int code = MPI_File_close(&handle_);
  handle_ = MPI_FILE_NULL;
  if (code != MPI_SUCCESS) return mpi_failure("MPI_File_close", path_, -1, code);
  return {};
}

Status MpiFile::sync() {
  const int code = MPI_File_sync(handle_);
  if (code != MPI_SUCCESS) return mpi_failure("MPI_File_sync", path_, -1, code);
  return {};
}

std::unique_ptr<storage::Transfer> make_mpi_transfer(const MpiFile& file) {
  return std::make_unique<MpiBlockingTransfer>(file);
}

std::unique_ptr<storage::Transfer> make_mpi_background_transfer(const MpiFile& file,
                                                                const storage::File& descriptor) {
  return std::make_unique<MpiBackgroundTransfer>(file, descriptor);
}

}  // namespace weir::bench

// POSIX calls: one at a time, or many in flight by io_uring. A part of an array is moved with one
// call for each of its runs.
#include <fcntl.h>

#include <utility>

#include "interfaces/interface.hpp"
#include "system/file.hpp"

namespace weir::bench {
namespace {

class PosixFile final : public File {
 public:
  PosixFile(storage::File file, storage::Durability durability, const FileRequest& request)
      : file_(std::move(file)), durability_(durability), runs_(request.runs) {}

  Status prepare(bool in_flight, const SessionSettings& settings, const FileRequest& request) {
    if (in_flight) {
      auto queue = storage::make_uring_queue(file_, static_cast<int>(settings.queue_depth));
      if (!queue) return queue.error();
      queue_ = std::move(queue).value();
    } else {
      transfer_ = storage::make_posix_transfer(file_);
    }
    if (!request.write || !settings.preallocate) return {};
    int rank = 0;
    MPI_Comm_rank(request.communicator, &rank);
    const int refused = rank == 0 ? posix_fallocate(file_.descriptor(), 0, request.bytes) : 0;
    return refused == 0 ? Status() : system_failure("posix_fallocate", file_.path(), -1, refused);
  }

  Status move(const storage::TransferRequest& request) override {
    if (Status started = transfer_->start(request); !started) return started;
    return transfer_->wait(0);  // start() does all the work
  }

  storage::TransferQueue* queue() override { return queue_.get(); }

  Status move_part(Direction direction, std::byte* memory) override {
    Status status;
    for_each_run(*runs_, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
      status =
          move({.direction = direction, .buffer = memory + from, .bytes = bytes, .offset = to});
      return status.ok();
    });
    return status;
  }

  Status sync() override {
    return durability_ == storage::Durability::data ? file_.sync_data() : file_.sync();
  }

  Status close() override {
    queue_.reset();
    transfer_.reset();
    return file_.close();
  }

 private:
  storage::File file_;
  storage::Durability durability_;
  const std::vector<array::StridedCopy>* runs_;
  std::unique_ptr<storage::Transfer> transfer_;  // these refer to file_
  std::unique_ptr<storage::TransferQueue> queue_;
};

class PosixSession final : public Session {
 public:
  PosixSession(bool in_flight, const SessionSettings& settings)
      : Session(settings), in_flight_(in_flight) {}

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    auto file = storage::File::open(request.path, {.read = true,
                                                   .write = request.write,
                                                   .create = request.create,
                                                   .direct = settings().direct});
    if (!file) return file.error();
    auto opened =
        std::make_unique<PosixFile>(std::move(file).value(), settings().durability, request);
    Status prepared = opened->prepare(in_flight_, settings(), request);
    if (!prepared) return prepared.error();
    return std::unique_ptr<File>(std::move(opened));
  }

 private:
  bool in_flight_;  // io_uring
};

}  // namespace

Result<std::unique_ptr<Session>> open_posix(const Interface& interface,
                                            const SessionSettings& settings) {
  return std::unique_ptr<Session>(std::make_unique<PosixSession>(interface.can.queue, settings));
}

}  // namespace weir::bench

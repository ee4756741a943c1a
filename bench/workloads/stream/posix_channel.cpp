// POSIX calls: one at a time (POSIX), or many in flight (IO_URING).
#include <fcntl.h>

#include <utility>

#include "common/clock.hpp"
#include "system/file.hpp"
#include "workloads/stream/channel.hpp"

namespace weir::bench::stream {
namespace {

class PosixChannel final : public Channel {
 public:
  PosixChannel(storage::File file, storage::Durability durability)
      : file_(std::move(file)), durability_(durability) {}

  Status prepare(const ChannelRequest& request) {
    if (request.variant.api == Api::io_uring) {
      auto queue = storage::make_uring_queue(file_, static_cast<int>(request.variant.queue_depth));
      if (!queue) return queue.error();
      queue_ = std::move(queue).value();
    } else {
      transfer_ = storage::make_posix_transfer(file_);
    }
    const bool mine = request.variant.file_per_rank || request.job.rank == 0;
    if (request.write && request.options.preallocate && mine) {
      const int refused = posix_fallocate(file_.descriptor(), 0, request.layout.file_bytes());
      if (refused != 0) return system_failure("posix_fallocate", file_.path(), -1, refused);
    }
    return {};
  }

  Status move(const storage::TransferRequest& request, std::int64_t /*index*/) override {
    if (Status started = transfer_->start(request); !started) return started;
    return transfer_->wait(0);  // start() does all the work
  }

  storage::TransferQueue* queue() override { return queue_.get(); }

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
  std::unique_ptr<storage::Transfer> transfer_;  // these refer to file_
  std::unique_ptr<storage::TransferQueue> queue_;
};

}  // namespace

Result<std::unique_ptr<Channel>> open_posix_channel(const ChannelRequest& request) {
  auto file = storage::File::open(
      request.path,
      {.read = true, .write = request.write, .create = request.write, .direct = request.direct});
  if (!file) return file.error();
  auto channel = std::make_unique<PosixChannel>(std::move(file).value(), request.durability);
  if (Status prepared = channel->prepare(request); !prepared) return prepared.error();
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace weir::bench::stream

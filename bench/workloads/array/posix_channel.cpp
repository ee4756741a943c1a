// POSIX: every rank moves its runs itself, with one call for each. This is also the channel for the
// contiguous pieces, whose runs are one piece per rank.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "system/file.hpp"
#include "workloads/array/channel.hpp"
#include "workloads/array/element_payload.hpp"

namespace weir::bench::array_io {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 30;  // in one call

// Returns the path in the rank's own directory if contiguous pieces lie in several.
std::string path_of(const ChannelRequest& request) {
  if (request.api != Api::contiguous || request.directories.size() < 2) return request.path;
  const auto turn = static_cast<std::size_t>(request.job.rank) % request.directories.size();
  const std::filesystem::path name = std::filesystem::path(request.path).filename();
  return (std::filesystem::path(request.directories[turn]) / name).string();
}

class PosixChannel final : public Channel {
 public:
  PosixChannel(storage::File file, const ChannelRequest& request)
      : file_(std::move(file)), runs_(request.runs), durability_(request.durability) {
    transfer_ = storage::make_posix_transfer(file_);
  }

  Status write(const std::byte* memory) override {
    // A transfer has one kind of buffer for both directions; writing does not change it.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    return move(Direction::write, const_cast<std::byte*>(memory));
  }
  Status read(std::byte* memory) override { return move(Direction::read, memory); }

  Status sync() override {
    return durability_ == storage::Durability::data ? file_.sync_data() : file_.sync();
  }

  Status close() override {
    transfer_.reset();
    return file_.close();
  }

 private:
  Status move(Direction direction, std::byte* memory) {
    Status status;
    for_each_run(runs_, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
      for (std::int64_t done = 0; done < bytes && status.ok(); done += most_bytes) {
        status = transfer_->start({.direction = direction,
                                   .buffer = memory + from + done,
                                   .bytes = std::min(bytes - done, most_bytes),
                                   .offset = to + done});
        if (status.ok()) status = transfer_->wait(0);  // start() does all the work
      }
      return status.ok();
    });
    return status;
  }

  storage::File file_;
  const std::vector<array::StridedCopy>& runs_;
  storage::Durability durability_;
  std::unique_ptr<storage::Transfer> transfer_;  // refers to file_
};

}  // namespace

Result<std::unique_ptr<Channel>> open_posix_channel(const ChannelRequest& request) {
  auto file = storage::File::open(path_of(request),
                                  {.read = true, .write = request.write, .create = request.create});
  if (!file) return file.error();
  return std::unique_ptr<Channel>(std::make_unique<PosixChannel>(std::move(file).value(), request));
}

}  // namespace weir::bench::array_io

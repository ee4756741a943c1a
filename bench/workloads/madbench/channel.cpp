#include "workloads/madbench/channel.hpp"

#include <utility>

namespace weir::bench::madbench {

Result<Channel> Channel::open(const Job& job, const std::string& path,
                              const ChannelOptions& options) {
  Channel channel;
  channel.variant_ = options.variant;
  const bool background = options.variant.mode == Mode::async;

  auto observer = storage::File::open(path, {.read = true, .write = options.write});
  Status observed;
  if (observer) {
    channel.observer_ = std::make_unique<storage::File>(std::move(observer).value());
  } else {
    observed = observer.error();
  }
  if (options.variant.method == Method::mpi) {
    // This open is collective, so it happens even if this rank's own open failed; otherwise the
    // others would wait.
    MPI_Comm communicator =
        options.variant.file_type == FileType::shared ? job.world : MPI_COMM_SELF;
    auto opened = MpiFile::open(communicator, path, options.write);
    if (!opened) return opened.error();
    channel.mpi_file_ = std::make_unique<MpiFile>(std::move(opened).value());
  }
  if (!observed) return observed.error();

  if (options.variant.method == Method::mpi) {
    const auto make = [&] {
      return background ? make_mpi_background_transfer(*channel.mpi_file_, *channel.observer_)
                        : make_mpi_transfer(*channel.mpi_file_);
    };
    channel.reader_ = make();
    channel.writer_ = make();
    return channel;
  }
  auto opened =
      storage::File::open(path, {.read = true, .write = options.write, .direct = options.direct});
  if (!opened) return opened.error();
  channel.file_ = std::make_unique<storage::File>(std::move(opened).value());
  const auto make = [&] {
    return background ? storage::make_background_transfer(*channel.file_)
                      : storage::make_posix_transfer(*channel.file_);
  };
  channel.reader_ = make();
  channel.writer_ = make();
  return channel;
}

bool Channel::syncs_separately() const {
  return variant_.method == Method::mpi && variant_.mode == Mode::sync;
}

Status Channel::sync() { return mpi_file_->sync(); }

Status Channel::close() {
  reader_.reset();
  writer_.reset();
  Status status;
  if (mpi_file_) status = mpi_file_->close();
  if (file_) {
    if (Status closed = file_->close(); !closed && status.ok()) status = std::move(closed);
  }
  if (Status closed = observer_->close(); !closed && status.ok()) status = std::move(closed);
  return status;
}

}  // namespace weir::bench::madbench

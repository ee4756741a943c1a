#include "workloads/madbench/channel.hpp"

#include <utility>

#include "aggregation/engines/mpiio_engine.hpp"

namespace weir::bench::madbench {

Result<Channel> Channel::open(const Job& job, const std::string& path,
                              const ChannelOptions& options) {
  Channel channel;
  channel.variant_ = options.variant;
  const bool is_mpi = options.variant.method == Method::mpi;

  auto observer = storage::File::open(path, {.read = true, .write = options.write});
  // An open by MPI is collective, so it happens even if this rank's own open failed; otherwise the
  // others would wait.
  if (!observer && !is_mpi) return observer.error();
  if (is_mpi) {
    channel.engine_ = aggregation::make_mpiio_engine(
        options.variant.file_type == FileType::shared ? job.world : MPI_COMM_SELF);
  } else {
    channel.engine_ = options.variant.mode == Mode::async ? storage::make_background_engine()
                                                          : storage::make_posix_engine();
  }
  auto opened =
      channel.engine_->open(path, {.write = options.write, .direct = options.direct && !is_mpi});
  if (!opened) return opened.error();
  channel.file_ = std::move(opened).value();
  if (!observer) return observer.error();
  channel.observer_ = std::make_unique<storage::File>(std::move(observer).value());
  return channel;
}

bool Channel::syncs_separately() const {
  return variant_.method == Method::mpi && variant_.mode == Mode::sync;
}

Status Channel::sync() {
  storage::EngineFile* const file = file_.get();
  return engine_->sync({&file, 1});
}

Status Channel::close() {
  Status status = file_->close();
  if (Status closed = observer_->close(); !closed && status.ok()) status = std::move(closed);
  return status;
}

}  // namespace weir::bench::madbench

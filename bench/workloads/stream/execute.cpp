#include "workloads/stream/execute.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weir::bench::stream {
namespace {

Status unlink_if_there(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_failure("unlink", path, -1, errno);
}

}  // namespace

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Options& options, TestFiles job_folders)
    : job_(job),
      guard_(guard),
      core_(core),
      options_(options),
      job_folders_(std::move(job_folders)) {
  if (core.rank_shift != 0) {
    constant_offset_ = core.rank_shift;
    return;
  }
  // The offset counts nodes if consecutive ranks share a node, as rank 0 sees it.
  const bool by_block = job.nodes > 1 && job.node_size > 1 && job.node_world_ranks[1] == 1;
  constant_offset_ = options.task_offset * (by_block ? job.node_size : 1);
  MPI_Bcast(&constant_offset_, 1, MPI_INT64_T, 0, job.world);
}

Executor::~Executor() = default;

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  return agree_on(job_, std::move(mine), &failed_rank_, wait_ns);
}

// Kept files have generation 0, so that a later run knows it.
std::uint32_t Executor::generation(std::int32_t repetition) const {
  const bool outlive = options_.keep || !options_.write;
  return outlive ? 0U : static_cast<std::uint32_t>(repetition) + 1U;
}

std::int64_t Executor::owner_read(const Configuration& configuration,
                                  std::int32_t repetition) const {
  Reorder reorder = options_.reorder;
  if (core_.rank_shift != 0) reorder = Reorder::constant;
  const std::uint64_t seed =
      options_.reorder_seed != 0
          ? options_.reorder_seed
          : configuration.payload_seed + static_cast<std::uint64_t>(repetition);
  return owners_to_read(reorder, job_.size, constant_offset_,
                        seed)[static_cast<std::size_t>(job_.rank)];
}

Result<RepetitionRecord> Executor::run(const Configuration& configuration,
                                       std::int32_t repetition) {
  RepetitionRecord record;
  if (Status status = prepare_repetition(configuration, repetition); !status) {
    return status.error();
  }
  const std::int64_t reader_of = owner_read(configuration, repetition);
  if (options_.write) {
    Status status = run_phase(configuration, repetition, Direction::write, job_.rank, record);
    // Without this check, a run that reads nothing would not know whether it wrote anything.
    const bool unread = core_.verify && !options_.read;
    if (status.ok() && (options_.check_write || unread)) {
      status = check_untimed(configuration, repetition, reader_of, "write", record);
    }
    if (!status) return status.error();
  }
  if (options_.read) {
    Status status = run_phase(configuration, repetition, Direction::read, reader_of, record);
    if (!status) return status.error();
    // If the buffers hold everything that was read, all of it has been checked.
    const std::int64_t most_read = *std::max_element(written_.begin(), written_.end());
    if (core_.verify && most_read > ring_->buffers()) {
      status = check_untimed(configuration, repetition, reader_of, "read", record);
      if (!status) return status.error();
    }
  }
  if (options_.keep || !options_.write) return record;
  if (Status status = meet(remove_files(configuration, repetition)); !status) {
    return status.error();
  }
  return record;
}

Status Executor::prepare_buffers(const Configuration& configuration) {
  const Layout& layout = configuration.layout;
  if (prepared_for_ == &configuration) return {};
  prepared_for_ = nullptr;
  ring_.reset();
  session_.reset();
  order_owner_ = -1;
  const std::int64_t depth = configuration.variant.queue_depth;
  const std::int64_t buffers =
      configuration.variant.api->can.queue
          ? depth
          : Ring::buffers_for(layout.transfer_bytes, layout.operations_per_rank(), depth);
  auto ring = Ring::create(buffers, layout.transfer_bytes);
  if (!ring) return ring.error();
  ring_ = std::make_unique<Ring>(std::move(ring).value());
  payload_ = std::make_unique<StampedPayload>(configuration.payload_seed,
                                              core_.compressible_percent, layout.transfer_bytes);
  auto session =
      open_session(*configuration.variant.api, {.communicator = job_.world,
                                                .deadline_seconds = job_.deadline_seconds,
                                                .striping = core_.striping,
                                                .durability = core_.durability,
                                                .collective = configuration.variant.collective,
                                                .direct = core_.direct,
                                                .preallocate = options_.preallocate,
                                                .queue_depth = depth,
                                                .hints_file = options_.hints_file,
                                                .opened_hints = job_.opened_hints.get(),
                                                .fill = !options_.no_fill,
                                                .collective_metadata = options_.collective_metadata,
                                                .alignment = options_.alignment});
  if (!session) return session.error();
  session_ = std::move(session).value();
  prepared_for_ = &configuration;
  return {};
}

Result<std::unique_ptr<File>> Executor::open(const Configuration& configuration,
                                             const std::string& path, std::int64_t owner,
                                             bool write) {
  const Layout& layout = configuration.layout;
  FileRequest request{.communicator = layout.file_per_rank ? MPI_COMM_SELF : job_.world,
                      .path = path,
                      .write = write,
                      .create = write,
                      .keep = options_.use_existing,
                      .name = "stream",
                      .bytes = layout.file_bytes()};
  if (options_.file_view) {
    // Between two pieces of the rank are those of the other ranks.
    const std::int64_t piece = layout.piece_bytes();
    request.view = {.start = layout.file_per_rank ? 0 : owner * piece,
                    .piece_bytes = piece,
                    .period_bytes = layout.file_per_rank ? piece : layout.ranks * piece};
  }
  return session_->open(request);
}

Status Executor::prepare_repetition(const Configuration& configuration, std::int32_t repetition) {
  TestFiles files = job_folders_;
  if (options_.write && !options_.keep_with_errors) {
    for (const int step : {0, 1, job_.size - 1}) {
      files.paths.push_back(configuration.files.path((job_.rank + step) % job_.size, repetition));
    }
  }
  if (options_.keep_with_errors) {
    files.directory.clear();
    files.job_folders.clear();
  }
  guard_.set_test_files(std::move(files));
  const std::int64_t all = configuration.layout.operations_per_rank();
  written_.assign(static_cast<std::size_t>(job_.size), all);
  if (Status kept = take_kept_count(); !kept) return kept;
  Status status = prepare_buffers(configuration);
  if (status.ok() && options_.write) status = make_way(configuration, repetition);
  return meet(std::move(status));
}

// Removes an old file and creates the directory for the new one.
Status Executor::make_way(const Configuration& configuration, std::int32_t repetition) const {
  const std::string directory = configuration.files.own_directory(job_.rank);
  if (!directory.empty() && mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    return system_failure("mkdir", directory, -1, errno);
  }
  if (options_.use_existing) return {};
  if (!configuration.variant.file_per_rank && job_.rank != 0) return {};
  return unlink_if_there(configuration.files.path(job_.rank, repetition));
}

Status Executor::remove_files(const Configuration& configuration, std::int32_t repetition) const {
  if (!configuration.variant.file_per_rank && job_.rank != 0) return {};
  if (Status status = unlink_if_there(configuration.files.path(job_.rank, repetition)); !status) {
    return status;
  }
  const std::string directory = configuration.files.own_directory(job_.rank);
  if (directory.empty() || rmdir(directory.c_str()) == 0 || errno == ENOTEMPTY) return {};
  return system_failure("rmdir", directory, -1, errno);
}

Error Executor::wrong_data(const PayloadMismatch& mismatch, const std::string& file,
                           std::int32_t repetition, const char* function) {
  faults_.push_back({mismatch, file, repetition, function});
  return wrong_data_error(faults_.back(), job_.rank);
}

// Reads the data that was written for the owner once more, and compares every byte. Collective.
Status Executor::check_untimed(const Configuration& configuration, std::int32_t repetition,
                               std::int64_t owner, const char* function, RepetitionRecord& record) {
  const Layout& layout = configuration.layout;
  const std::string file = configuration.files.path(owner, repetition);
  const StampedPayload::Stamps stamps(
      *payload_, configuration.variant.file_per_rank ? static_cast<std::uint32_t>(owner) : 0U,
      generation(repetition));
  guard_.entering("open", &file, -1);
  auto opened = open(configuration, file, owner, false);
  guard_.left();
  if (Status status = meet(opened ? Status() : opened.error()); !status) return status;
  const std::unique_ptr<File> open_file = std::move(opened).value();
  const VisitOrder order(layout, configuration.payload_seed, owner);
  Status status;
  const std::int64_t limit = written_[static_cast<std::size_t>(owner)];
  for (std::int64_t position = 0; position < limit; ++position) {
    const std::int64_t offset = layout.offset(owner, order.index(position));
    guard_.entering("read", &file, offset);
    Status moved = open_file->move({.direction = Direction::read,
                                    .buffer = ring_->at(0),
                                    .bytes = layout.transfer_bytes,
                                    .offset = offset});
    if (status.ok()) status = std::move(moved);
    if (status.ok()) {
      const auto mismatch = stamps.check(ring_->at(0), offset, layout.file_bytes());
      if (mismatch) status = wrong_data(*mismatch, file, repetition, function);
      record.bytes_verified += layout.transfer_bytes;
    }
    // Collective calls continue; otherwise the other ranks would wait for this one.
    if (!status && !configuration.variant.collective) break;
  }
  guard_.left();
  if (status = meet(std::move(status)); !status) return status;
  return meet(open_file->close());
}

}  // namespace weir::bench::stream

// Protocol of one phase, on every rank:
//   1. Wait out --delay. Clear the way (write) or look at the page cache (read). Meet.
//   2. Open, timed. Meet.
//   3. Transfers, one after the other or many in flight, with nothing between two of them but the
//      stamps of the payload, two looks at the clock, and the record (stamped_payload.hpp says why
//      this suffices). At --stonewall stop; with --wear-out agree on the furthest rank's count and
//      go on to it. Then the durable sync. Meet: time ends.
//   4. Close, timed. Meet.
//   5. Untimed: check what the buffers still hold of the timed reads, and read everything again.
// A rank whose operation failed goes on to the next meeting and tells it there.
#include "workloads/stream/execute.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "measurement/device_traffic.hpp"
#include "storage/page_cache.hpp"

namespace weir::bench::stream {
namespace {

constexpr std::int64_t resident_sample_pages = 256;

const char* function_name(storage::Direction direction) {
  return direction == storage::Direction::write ? "write" : "read";
}

Status unlink_if_there(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_failure("unlink", path, -1, errno);
}

}  // namespace

// The state of one phase while it runs.
struct Executor::Phase {
  const Configuration& configuration;
  std::int32_t repetition;
  storage::Direction direction;
  std::int64_t owner;
  std::string file;
  const StampedPayload::Stamps stamps;
  PhaseRecord& figures;
  std::vector<Event>& events;
  std::unique_ptr<Channel> channel;
  std::int64_t position = 0;               // transfers begun
  std::int64_t wall_ns = 0;                // when --stonewall is over; 0: never
  std::vector<std::int64_t> held_offsets;  // by buffer: what it holds; -1: nothing

  [[nodiscard]] bool writing() const { return direction == storage::Direction::write; }
};

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Options& options, std::string test_directory)
    : job_(job),
      guard_(guard),
      core_(core),
      options_(options),
      test_directory_(std::move(test_directory)) {
  if (core.rank_shift != 0) {
    constant_offset_ = core.rank_shift;
    return;
  }
  // By nodes where consecutive ranks share one, as rank 0 sees it.
  const bool by_block = job.nodes > 1 && job.node_size > 1 && job.node_world_ranks[1] == 1;
  constant_offset_ = options.task_offset * (by_block ? job.node_size : 1);
  MPI_Bcast(&constant_offset_, 1, MPI_INT64_T, 0, job.world);
}

Executor::~Executor() = default;

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  return agree_on(job_, std::move(mine), &failed_rank_, wait_ns);
}

// Kept files carry generation 0, so that a later run knows it.
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
    Status status =
        run_phase(configuration, repetition, storage::Direction::write, job_.rank, record);
    // A run that reads nothing would otherwise not know whether it wrote anything.
    const bool unread = core_.verify && !options_.read;
    if (status.ok() && (options_.check_write || unread)) {
      status = check_untimed(configuration, repetition, reader_of, "write", record);
    }
    if (!status) return status.error();
  }
  if (options_.read) {
    Status status =
        run_phase(configuration, repetition, storage::Direction::read, reader_of, record);
    if (!status) return status.error();
    // Where the buffers hold everything that was read, all of it has been checked.
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
  order_owner_ = -1;
  const std::int64_t depth = configuration.variant.queue_depth;
  const std::int64_t buffers =
      configuration.variant.api == Api::io_uring
          ? depth
          : Ring::buffers_for(layout.transfer_bytes, layout.operations_per_rank(), depth);
  auto ring = Ring::create(buffers, layout.transfer_bytes);
  if (!ring) return ring.error();
  ring_ = std::make_unique<Ring>(std::move(ring).value());
  payload_ = std::make_unique<StampedPayload>(configuration.payload_seed,
                                              core_.compressible_percent, layout.transfer_bytes);
  prepared_for_ = &configuration;
  return {};
}

Status Executor::prepare_repetition(const Configuration& configuration, std::int32_t repetition) {
  TestFiles files{test_directory_, {}};
  if (options_.write && !options_.keep_with_errors) {
    for (const int step : {0, 1, job_.size - 1}) {
      files.paths.push_back(configuration.files.path((job_.rank + step) % job_.size, repetition));
    }
  }
  if (options_.keep_with_errors) files.directory.clear();
  guard_.set_test_files(std::move(files));
  const std::int64_t all = configuration.layout.operations_per_rank();
  written_.assign(static_cast<std::size_t>(job_.size), all);
  Status status = prepare_buffers(configuration);
  if (status.ok() && options_.write) status = make_way(configuration, repetition);
  return meet(std::move(status));
}

// Removes an old file and makes the directory for the new one.
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

Status Executor::look_at_cache(Phase& phase) const {
  if (phase.writing()) return {};
  const auto observer = storage::File::open(phase.file, {});
  if (!observer) return observer.error();
  const std::int64_t bytes = phase.configuration.layout.file_bytes();
  if (core_.drop_cache) {
    Status dropped = storage::drop_cached_pages(observer.value(), 0, bytes);
    if (!dropped) return dropped;
  }
  if (core_.direct) return {};
  struct stat status {};
  if (fstat(observer.value().descriptor(), &status) != 0 || status.st_size == 0) return {};
  const auto resident = storage::resident_fraction(
      observer.value(), 0, std::min<std::int64_t>(bytes, status.st_size), resident_sample_pages);
  if (resident) phase.figures.resident_before = resident.value();
  return {};
}

Status Executor::run_phase(const Configuration& configuration, std::int32_t repetition,
                           storage::Direction direction, std::int64_t owner,
                           RepetitionRecord& record) {
  record.phases.emplace_back();
  record.phases.back().direction = direction;
  const std::uint32_t file_number =
      configuration.variant.file_per_rank ? static_cast<std::uint32_t>(owner) : 0U;
  Phase phase{
      .configuration = configuration,
      .repetition = repetition,
      .direction = direction,
      .owner = owner,
      .file = configuration.files.path(owner, repetition),
      .stamps = StampedPayload::Stamps(*payload_, file_number, generation(repetition)),
      .figures = record.phases.back(),
      .events = record.events,
      .channel = nullptr,
      .held_offsets = std::vector<std::int64_t>(static_cast<std::size_t>(ring_->buffers()), -1)};
  if (options_.delay_seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.delay_seconds));
  }
  if (order_owner_ != owner) {
    order_ = std::make_unique<VisitOrder>(configuration.layout, configuration.payload_seed, owner);
    order_owner_ = owner;
  }
  if (phase.writing()) {
    for (std::int64_t i = 0; i < ring_->buffers(); ++i) payload_->fill_body(ring_->at(i));
  }
  if (Status status = meet(look_at_cache(phase)); !status) return status;
  const bool asks_devices = job_.node_rank == 0;
  const auto devices = configuration.files.directories();
  const auto before = asks_devices ? moved_by_devices(devices, direction) : std::nullopt;

  if (Status status = meet({}); !status) return status;
  PhaseRecord& figures = phase.figures;
  figures.opening_ns = monotonic_ns();
  guard_.entering("open", &phase.file, -1);
  auto opened = open_channel({.job = job_,
                              .variant = configuration.variant,
                              .options = options_,
                              .layout = configuration.layout,
                              .path = phase.file,
                              .owner = owner,
                              .write = phase.writing(),
                              .direct = core_.direct,
                              .durability = core_.durability});
  guard_.left();
  figures.open_ns = monotonic_ns() - figures.opening_ns;
  Status status = opened ? Status() : opened.error();
  if (opened) phase.channel = std::move(opened).value();
  if (status = meet(std::move(status)); !status) return status;

  status = move_all(phase);
  if (status = meet(std::move(status), &figures.wait_ns); !status) return status;
  if (!phase.events.empty()) phase.events.back().barrier_wait_ns = figures.wait_ns;

  const std::int64_t closing = monotonic_ns();
  guard_.entering("close", &phase.file, -1);
  status = phase.channel->close();
  guard_.left();
  figures.closed_ns = monotonic_ns();
  figures.close_ns = figures.closed_ns - closing;
  if (status = meet(std::move(status)); !status) return status;
  if (asks_devices && before) {
    const auto after = moved_by_devices(devices, direction);
    figures.device_known = after.has_value();
    if (after) figures.device_bytes = *after - *before;
  }
  if (phase.writing()) return agree_on_counts(phase);
  return core_.verify ? check_buffers(phase, record) : Status();
}

Status Executor::move_all(Phase& phase) {
  const std::int64_t limit = written_[static_cast<std::size_t>(phase.owner)];
  PhaseRecord& figures = phase.figures;
  if (options_.trace_events > 0) {
    figures.trace_step = (limit + options_.trace_events - 1) / options_.trace_events;
  }
  figures.trace_step = std::max<std::int64_t>(figures.trace_step, 1);
  const std::int64_t traced =
      options_.trace_events > 0 ? limit / figures.trace_step + 2 : 1;  // and the sync
  // Room for all, so that nothing is allocated between two transfers.
  phase.events.reserve(phase.events.size() + static_cast<std::size_t>(traced));
  const auto move = [&](std::int64_t to, bool walled) {
    return phase.channel->queue() != nullptr ? move_in_flight(phase, to, walled)
                                             : move_one_by_one(phase, to, walled);
  };

  figures.start_ns = monotonic_ns();
  const bool walled = options_.stonewall_seconds > 0;
  if (walled) {
    phase.wall_ns = figures.start_ns + static_cast<std::int64_t>(options_.stonewall_seconds * 1e9);
  }
  Status status = move(limit, walled);
  if (walled) {
    figures.wall = {.operations = figures.operations,
                    .bytes = figures.bytes,
                    .elapsed_ns = monotonic_ns() - figures.start_ns,
                    .reached = phase.position < limit};
    if (phase.writing() && options_.wear_out) {
      if (status = pass_the_wall(phase, std::move(status)); !status) return status;
      std::int64_t furthest = phase.position;
      MPI_Allreduce(&phase.position, &furthest, 1, MPI_INT64_T, MPI_MAX, job_.world);
      status = move(furthest, false);
    }
  }
  if (status.ok() && phase.writing()) status = make_durable(phase);
  guard_.left();
  figures.end_ns = monotonic_ns();
  if (phase.channel->queue() != nullptr) figures.io_ns = figures.end_ns - figures.start_ns;
  return status;
}

// Everybody learns of a failure before the furthest count is asked for.
Status Executor::pass_the_wall(Phase& /*phase*/, Status status) {
  guard_.left();
  return meet(std::move(status));
}

Status Executor::make_durable(Phase& phase) {
  const bool wanted = core_.durability != storage::Durability::none;
  if (!wanted || options_.sync_each) return {};
  guard_.entering("fsync", &phase.file, -1);
  const std::int64_t start = monotonic_ns();
  Status status = phase.channel->sync();
  const std::int64_t end = monotonic_ns();
  phase.figures.sync_ns = end - start;
  phase.figures.io_ns += end - start;
  if (options_.trace_events > 0) {
    phase.events.push_back({.repetition = phase.repetition,
                            .function = function_write,
                            .operation = Operation::sync,
                            .start_ns = start,
                            .end_ns = end,
                            .foreground_ns = end - start});
  }
  return status;
}

void Executor::note(Phase& phase, std::int64_t index, std::int64_t offset, std::int64_t start_ns,
                    std::int64_t end_ns) const {
  PhaseRecord& figures = phase.figures;
  const std::int64_t bytes = phase.configuration.layout.transfer_bytes;
  const std::int64_t duration = end_ns - start_ns;
  figures.latencies.record(duration);
  figures.io_ns += duration;
  figures.bytes += bytes;
  const std::int64_t number = figures.operations++;
  if (options_.trace_events == 0 || number % figures.trace_step != 0) return;
  phase.events.push_back({.repetition = phase.repetition,
                          .function = phase.writing() ? function_write : function_read,
                          .operation = phase.writing() ? Operation::write : Operation::read,
                          .bin = static_cast<std::int32_t>(std::min<std::int64_t>(
                              index, std::numeric_limits<std::int32_t>::max())),
                          .start_ns = start_ns,
                          .end_ns = end_ns,
                          .foreground_ns = duration,
                          .bytes = bytes,
                          .offset_bytes = offset});
}

Status Executor::move_one_by_one(Phase& phase, std::int64_t limit, bool walled) {
  const Layout& layout = phase.configuration.layout;
  const bool check = !phase.writing() && core_.verify;
  const char* operation = function_name(phase.direction);
  storage::TransferRequest request{
      .direction = phase.direction,
      .bytes = layout.transfer_bytes,
      .durability = !phase.writing() || !options_.sync_each         ? storage::Durability::none
                    : core_.durability == storage::Durability::data ? storage::Durability::data
                                                                    : storage::Durability::full};
  // Collective calls go on after a failure, or the other ranks would wait for this one.
  const bool goes_on = phase.configuration.variant.collective;
  Status first;
  std::int64_t now = monotonic_ns();
  while (phase.position < limit) {
    if (walled && now >= phase.wall_ns) break;
    const std::int64_t index = order_->index(phase.position);
    const std::int64_t buffer = phase.position % ring_->buffers();
    request.offset = layout.offset(phase.owner, index);
    request.buffer = ring_->at(buffer);
    phase.held_offsets[static_cast<std::size_t>(buffer)] = request.offset;
    ++phase.position;
    if (phase.writing()) phase.stamps.stamp(request.buffer, request.offset);
    guard_.entering(operation, &phase.file, request.offset);
    const std::int64_t start = monotonic_ns();
    Status status = phase.channel->move(request, index);
    now = monotonic_ns();
    note(phase, index, request.offset, start, now);
    if (status.ok() && check && !phase.stamps.right(request.buffer, request.offset)) {
      const auto mismatch = phase.stamps.check(request.buffer, request.offset, layout.file_bytes());
      status = wrong_data(*mismatch, phase.file, phase.repetition, "read");
    }
    if (status.ok()) continue;
    if (!goes_on) return status;
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status Executor::move_in_flight(Phase& phase, std::int64_t limit, bool walled) {
  const Layout& layout = phase.configuration.layout;
  storage::TransferQueue& queue = *phase.channel->queue();
  const bool check = !phase.writing() && core_.verify;
  const char* operation = function_name(phase.direction);
  struct Slot {
    std::int64_t index = 0;
    std::int64_t offset = 0;
    std::int64_t start_ns = 0;
  };
  std::vector<Slot> slots(static_cast<std::size_t>(ring_->buffers()));
  std::vector<int> free;
  for (int slot = static_cast<int>(ring_->buffers()) - 1; slot >= 0; --slot) free.push_back(slot);
  std::int64_t now = monotonic_ns();
  while (true) {
    while (!free.empty() && phase.position < limit && (!walled || now < phase.wall_ns)) {
      const int number = free.back();
      free.pop_back();
      Slot& slot = slots[static_cast<std::size_t>(number)];
      slot.index = order_->index(phase.position++);
      slot.offset = layout.offset(phase.owner, slot.index);
      phase.held_offsets[static_cast<std::size_t>(number)] = slot.offset;
      std::byte* buffer = ring_->at(number);
      if (phase.writing()) phase.stamps.stamp(buffer, slot.offset);
      slot.start_ns = monotonic_ns();
      Status status = queue.submit(number, {.direction = phase.direction,
                                            .buffer = buffer,
                                            .bytes = layout.transfer_bytes,
                                            .offset = slot.offset});
      if (!status) return status;
    }
    if (queue.in_flight() == 0) return {};
    guard_.entering(operation, &phase.file, -1);
    const auto end = queue.wait_one();
    if (!end) return end.error();
    now = end.value().end_ns;
    const int number = end.value().slot;
    const Slot& slot = slots[static_cast<std::size_t>(number)];
    note(phase, slot.index, slot.offset, slot.start_ns, now);
    if (check && !phase.stamps.right(ring_->at(number), slot.offset)) {
      const auto mismatch = phase.stamps.check(ring_->at(number), slot.offset, layout.file_bytes());
      return wrong_data(*mismatch, phase.file, phase.repetition, "read");
    }
    free.push_back(number);
  }
}

// How much of each rank's data there is to read. Collective.
Status Executor::agree_on_counts(const Phase& phase) {
  if (options_.stonewall_seconds <= 0) return {};
  MPI_Allgather(&phase.position, 1, MPI_INT64_T, written_.data(), 1, MPI_INT64_T, job_.world);
  return {};
}

Error Executor::wrong_data(const PayloadMismatch& mismatch, const std::string& file,
                           std::int32_t repetition, const char* function) {
  faults_.push_back({mismatch, file, repetition, function});
  return wrong_data_error(faults_.back(), job_.rank);
}

Status Executor::check_buffers(Phase& phase, RepetitionRecord& record) {
  Status status;
  const Layout& layout = phase.configuration.layout;
  for (std::int64_t buffer = 0; buffer < ring_->buffers() && status.ok(); ++buffer) {
    const std::int64_t offset = phase.held_offsets[static_cast<std::size_t>(buffer)];
    if (offset < 0) continue;
    const auto mismatch = phase.stamps.check(ring_->at(buffer), offset, layout.file_bytes());
    if (mismatch) status = wrong_data(*mismatch, phase.file, phase.repetition, "read");
    record.bytes_verified += layout.transfer_bytes;
  }
  return meet(std::move(status));
}

// Reads all that was written of the owner's data once more, and looks at every byte. Collective.
Status Executor::check_untimed(const Configuration& configuration, std::int32_t repetition,
                               std::int64_t owner, const char* function, RepetitionRecord& record) {
  const Layout& layout = configuration.layout;
  const std::string file = configuration.files.path(owner, repetition);
  const StampedPayload::Stamps stamps(
      *payload_, configuration.variant.file_per_rank ? static_cast<std::uint32_t>(owner) : 0U,
      generation(repetition));
  // One at a time: what IO_URING wrote, POSIX reads.
  Variant variant = configuration.variant;
  if (variant.api == Api::io_uring) variant.api = Api::posix;
  guard_.entering("open", &file, -1);
  auto opened = open_channel({.job = job_,
                              .variant = variant,
                              .options = options_,
                              .layout = layout,
                              .path = file,
                              .owner = owner,
                              .write = false,
                              .direct = core_.direct});
  guard_.left();
  if (Status status = meet(opened ? Status() : opened.error()); !status) return status;
  const std::unique_ptr<Channel> channel = std::move(opened).value();
  const VisitOrder order(layout, configuration.payload_seed, owner);
  Status status;
  const std::int64_t limit = written_[static_cast<std::size_t>(owner)];
  for (std::int64_t position = 0; position < limit; ++position) {
    const std::int64_t index = order.index(position);
    const std::int64_t offset = layout.offset(owner, index);
    guard_.entering("read", &file, offset);
    Status moved = channel->move({.direction = storage::Direction::read,
                                  .buffer = ring_->at(0),
                                  .bytes = layout.transfer_bytes,
                                  .offset = offset},
                                 index);
    if (status.ok()) status = std::move(moved);
    if (status.ok()) {
      const auto mismatch = stamps.check(ring_->at(0), offset, layout.file_bytes());
      if (mismatch) status = wrong_data(*mismatch, file, repetition, function);
      record.bytes_verified += layout.transfer_bytes;
    }
    // Collective calls go on, or the other ranks would wait for this one.
    if (!status && !variant.collective) break;
  }
  guard_.left();
  if (status = meet(std::move(status)); !status) return status;
  return meet(channel->close());
}

}  // namespace weir::bench::stream

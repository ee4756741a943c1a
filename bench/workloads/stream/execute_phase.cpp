// The protocol of one phase, on every rank:
//   1. Wait for --delay. Remove old files (write) or sample the page cache (read). Meet.
//   2. Open, timed. Meet.
//   3. Do the transfers, one after the other or many in flight, with nothing between two of them
//      but the stamps of the payload, two readings of the clock, and the record
//      (stamped_payload.hpp says why this suffices). Stop at --stonewall; with --wear-out, agree on
//      the furthest rank's count and continue to it. Then do the durable sync. Meet; time ends.
//   4. Close, timed. Meet.
//   5. Untimed: check the data of the timed reads that the buffers still hold.
// A rank whose operation failed goes on to the next meeting and reports the failure there.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "measurement/device_traffic.hpp"
#include "measurement/page_cache.hpp"
#include "measurement/stonewall_file.hpp"
#include "workloads/stream/execute.hpp"

namespace weir::bench::stream {
namespace {

constexpr std::int64_t resident_sample_pages = 256;

// Waits at its end until no request is in flight: after a failure, those in flight still use their
// memory.
class EndsAll {
 public:
  explicit EndsAll(storage::Engine& engine) : engine_(engine) {}
  EndsAll(const EndsAll&) = delete;
  EndsAll& operator=(const EndsAll&) = delete;
  ~EndsAll() {
    while (engine_.in_flight() > 0) (void)engine_.wait(storage::no_deadline);
  }

 private:
  storage::Engine& engine_;
};

const char* function_name(Direction direction) {
  return direction == Direction::write ? "write" : "read";
}

}  // namespace

// The state of one phase while it runs.
struct Executor::Phase {
  const Configuration& configuration;
  std::int32_t repetition;
  Direction direction;
  std::int64_t owner;
  std::string file;
  const StampedPayload::Stamps stamps;
  PhaseRecord& figures;
  std::vector<Event>& events;
  std::unique_ptr<File> open_file;
  std::int64_t position = 0;               // transfers begun
  std::int64_t wall_ns = 0;                // when the time of --stonewall is over; 0: never
  std::vector<std::int64_t> held_offsets;  // by buffer: the offset of its data; -1: none

  [[nodiscard]] bool writing() const { return direction == Direction::write; }
};

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
                           Direction direction, std::int64_t owner, RepetitionRecord& record) {
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
      .open_file = nullptr,
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
  auto opened = open(configuration, phase.file, owner, phase.writing());
  guard_.left();
  figures.open_ns = monotonic_ns() - figures.opening_ns;
  Status status = opened ? Status() : opened.error();
  if (opened) phase.open_file = std::move(opened).value();
  if (status = meet(std::move(status)); !status) return status;
  if (phase.writing() && !core_.targets.empty()) {
    const bool has_created = configuration.variant.file_per_rank || job_.rank == 0;
    if (has_created) {
      status = check_file_is_on_targets(phase.file, core_.targets.of_rank(job_.rank));
    }
    if (status = meet(std::move(status)); !status) return status;
  }

  status = move_all(phase);
  if (status = meet(std::move(status), &figures.wait_ns); !status) return status;
  if (!phase.events.empty()) phase.events.back().barrier_wait_ns = figures.wait_ns;

  const std::int64_t closing = monotonic_ns();
  guard_.entering("close", &phase.file, -1);
  status = phase.open_file->close();
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
      options_.trace_events > 0 ? limit / figures.trace_step + 2 : 1;  // plus the sync
  // The capacity suffices for all events, so that nothing is allocated between two transfers.
  phase.events.reserve(phase.events.size() + static_cast<std::size_t>(traced));
  const auto move = [&](std::int64_t to, bool walled) {
    return session_->engine() != nullptr ? move_in_flight(phase, to, walled)
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
  if (session_->engine() != nullptr) figures.io_ns = figures.end_ns - figures.start_ns;
  return status;
}

// All ranks learn of a failure before they agree on the furthest count.
Status Executor::pass_the_wall(Phase& /*phase*/, Status status) {
  guard_.left();
  return meet(std::move(status));
}

Status Executor::make_durable(Phase& phase) {
  const bool wanted = core_.durability != storage::Durability::none;
  if (!wanted || options_.sync_each) return {};
  guard_.entering("fsync", &phase.file, -1);
  const std::int64_t start = monotonic_ns();
  Status status = phase.open_file->sync();
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
  TransferRequest request{
      .direction = phase.direction,
      .bytes = layout.transfer_bytes,
      .durability = !phase.writing() || !options_.sync_each         ? storage::Durability::none
                    : core_.durability == storage::Durability::data ? storage::Durability::data
                                                                    : storage::Durability::full};
  // Collective calls continue after a failure; otherwise the other ranks would wait for this one.
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
    Status status = phase.open_file->move(request);
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
  storage::Engine& queue = *session_->engine();
  const bool check = !phase.writing() && core_.verify;
  const char* operation = function_name(phase.direction);
  struct Slot : storage::PieceRequest {
    std::int64_t index = 0;
    std::int64_t buffer = 0;
  };
  std::vector<Slot> slots(static_cast<std::size_t>(ring_->buffers()));
  const EndsAll ends_all(queue);
  std::vector<Slot*> free;
  for (std::int64_t i = ring_->buffers() - 1; i >= 0; --i) {
    slots[static_cast<std::size_t>(i)].buffer = i;
    free.push_back(&slots[static_cast<std::size_t>(i)]);
  }
  std::int64_t now = monotonic_ns();
  while (true) {
    while (!free.empty() && phase.position < limit && (!walled || now < phase.wall_ns)) {
      Slot& slot = *free.back();
      slot.index = order_->index(phase.position++);
      const std::int64_t offset = layout.offset(phase.owner, slot.index);
      phase.held_offsets[static_cast<std::size_t>(slot.buffer)] = offset;
      std::byte* buffer = ring_->at(slot.buffer);
      if (phase.writing()) phase.stamps.stamp(buffer, offset);
      Status begun = phase.open_file->submit(slot, {.direction = phase.direction,
                                                    .buffer = buffer,
                                                    .bytes = layout.transfer_bytes,
                                                    .offset = offset});
      if (!begun) return begun;
      free.pop_back();
    }
    if (queue.in_flight() == 0) return {};
    guard_.entering(operation, &phase.file, -1);
    // The guard ends the run if this never returns; a deadline would cost a further system call.
    const auto ended = queue.wait(storage::no_deadline);
    if (!ended) return ended.error();
    Slot& slot = static_cast<Slot&>(*ended.value());
    if (!slot.status.ok()) return slot.status;
    now = slot.times.durable_ns;
    note(phase, slot.index, slot.offset(), slot.times.submitted_ns, now);
    const std::byte* const buffer = ring_->at(slot.buffer);
    if (check && !phase.stamps.right(buffer, slot.offset())) {
      const auto mismatch = phase.stamps.check(buffer, slot.offset(), layout.file_bytes());
      return wrong_data(*mismatch, phase.file, phase.repetition, "read");
    }
    free.push_back(&slot);
  }
}

// Agrees on how much of each rank's data there is to read. Collective.
Status Executor::agree_on_counts(const Phase& phase) {
  if (options_.stonewall_seconds <= 0) return {};
  MPI_Allgather(&phase.position, 1, MPI_INT64_T, written_.data(), 1, MPI_INT64_T, job_.world);
  if (options_.stonewall_file.empty()) return {};
  return meet(job_.rank == 0 ? write_stonewall_file(options_.stonewall_file, phase.position)
                             : Status());
}

// Reads how much of each rank's data there is in files that an earlier run kept. Collective.
Status Executor::take_kept_count() {
  if (options_.write || options_.stonewall_file.empty()) return {};
  std::int64_t count = -1;
  Status status;
  if (job_.rank == 0) {
    const auto found = read_stonewall_file(options_.stonewall_file);
    status = found ? Status() : Status(found.error());
    if (found) count = found.value().value_or(-1);
  }
  if (status = meet(std::move(status)); !status) return status;
  MPI_Bcast(&count, 1, MPI_INT64_T, 0, job_.world);
  for (std::int64_t& written : written_) written = count < 0 ? written : std::min(written, count);
  return {};
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

}  // namespace weir::bench::stream

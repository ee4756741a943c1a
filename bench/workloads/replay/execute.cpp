#include "workloads/replay/execute.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "measurement/busy_work.hpp"
#include "measurement/device_traffic.hpp"
#include "measurement/page_cache.hpp"
#include "system/file.hpp"

namespace weir::bench::replay {
namespace {

constexpr std::int64_t most_traced = 100'000;

std::size_t place_of(Direction direction) { return direction == Direction::write ? 0 : 1; }

}  // namespace

// The state of one repetition.
struct Executor::Replay {
  const Configuration& configuration;
  std::int32_t repetition = 0;
  RepetitionRecord& record;
  std::array<PhaseRecord, 2> phases{};  // by place_of()
  OpenFiles open_files{};
  std::int64_t trace_step = 1;
  std::int64_t transfers = 0;
  std::int64_t last_end_ns = 0;

  PhaseRecord& phase(Direction direction) { return phases[place_of(direction)]; }
  PhaseRecord& phase_of(bool writes) { return phase(writes ? Direction::write : Direction::read); }
};

Part part_of(std::int64_t rank, std::int64_t ranks, std::int64_t recorded) {
  if (ranks > recorded) return {{rank % recorded}, rank / recorded};
  Part part;
  for (std::int64_t one = rank; one < recorded; one += ranks) part.recorded_ranks.push_back(one);
  return part;
}

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, Work work)
    : job_(job), guard_(guard), core_(core), work_(std::move(work)) {}

Executor::~Executor() = default;

std::int64_t Executor::memory_bytes(const RankSums& sums) {
  const std::int64_t events = std::min(sums.reads + sums.writes, most_traced + 1);
  constexpr std::int64_t range_bytes = 64;  // of a node in a map
  const auto ranges = std::min<std::int64_t>(sums.reads + sums.writes + sums.blocks, most_ranges);
  return CallMemory::memory_bytes(sums.largest_bytes, sums.blocks > 0) +
         events * static_cast<std::int64_t>(sizeof(Event)) + ranges * range_bytes;
}

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  return agree_on(job_, std::move(mine), &failed_rank_, wait_ns);
}

Status Executor::begin() {
  std::int64_t largest = 0;
  bool packs = false;
  for (const std::int64_t rank : work_.part.recorded_ranks) {
    const auto place = static_cast<std::size_t>(rank);
    records_.push_back(&work_.record.ranks[place]);
    largest = std::max(largest, work_.record.sums[place].largest_bytes);
    packs = packs || work_.record.sums[place].blocks > 0;
    calls_ += work_.record.sums[place].reads + work_.record.sums[place].writes;
  }
  auto needs = needs_of(records_, work_.record.files);
  Status status = needs ? Status() : needs.error();
  if (needs) needs_ = std::move(needs).value();
  if (status.ok()) {
    auto memory = CallMemory::create(largest, packs);
    if (memory) {
      memory_ = std::move(memory).value();
    } else {
      status = memory.error();
    }
  }
  if (status = meet(std::move(status)); !status || !work_.together) return status;
  return meet(check_order());
}

// Collective. Ranks that made different collective calls would wait for each other for ever.
Status Executor::check_order() {
  MPI_Comm_split(job_.world, static_cast<int>(work_.part.copy), job_.rank, &copy_);
  const std::uint64_t mine = order_together(*records_.front());
  const std::array<std::uint64_t, 2> both{mine, ~mine};
  std::array<std::uint64_t, 2> least{};
  MPI_Allreduce(both.data(), least.data(), 2, MPI_UINT64_T, MPI_MIN, copy_);
  if (least[0] == ~least[1]) return {};
  return invalid_argument(
      "replay: the ranks of the record make different collective calls, and would wait for each "
      "other for ever: give --api posix, which makes them independently");
}

const std::string& Executor::path_of(std::int64_t file) {
  std::string& path = paths_[file];
  if (path.empty()) path = fmt::format("{}/weir-replay-{}-{}", work_.folder, work_.part.copy, file);
  return path;
}

PayloadStream Executor::stream_of(const Replay& replay, std::int64_t file) const {
  const std::int64_t number = work_.part.copy * std::ssize(work_.record.files) + file;
  return {.seed = replay.configuration.payload_seed,
          .file = static_cast<std::uint32_t>(number),
          .generation = static_cast<std::uint32_t>(replay.repetition) + 1,
          .compressible_percent = core_.compressible_percent};
}

Status Executor::open_session(const Configuration& configuration) {
  if (session_of_ == configuration.api) return {};
  if (Status closed = finish(); !closed) return closed;
  session_of_ = nullptr;
  auto session = session_of(configuration, false);
  if (!session) return session.error();
  session_ = std::move(session).value();
  together_session_ = nullptr;
  if (work_.together && configuration.api->can.collective) {
    auto together = session_of(configuration, true);
    if (!together) return together.error();
    together_session_ = std::move(together).value();
  }
  session_of_ = configuration.api;
  return {};
}

Result<std::unique_ptr<Session>> Executor::session_of(const Configuration& configuration,
                                                      bool together) {
  return bench::open_session(*configuration.api, {.communicator = together ? copy_ : job_.world,
                                                  .deadline_seconds = job_.deadline_seconds,
                                                  .striping = core_.striping,
                                                  .durability = storage::Durability::full,
                                                  .collective = together,
                                                  .opened_hints = job_.opened_hints.get()});
}

Status Executor::finish() {
  Status closed = session_ ? session_->close() : Status();
  if (closed.ok() && together_session_) closed = together_session_->close();
  return closed;
}

Result<std::unique_ptr<File>> Executor::open(const std::string& path, bool write, bool together) {
  Session& session = together ? *together_session_ : *session_;
  return session.open({.communicator = together ? copy_ : MPI_COMM_SELF,
                       .path = path,
                       .write = write,
                       .create = write});
}

Result<RepetitionRecord> Executor::run(const Configuration& configuration,
                                       std::int32_t repetition) {
  RepetitionRecord record;
  Replay replay{.configuration = configuration, .repetition = repetition, .record = record};
  replay.phase(Direction::write).direction = Direction::write;
  replay.phase(Direction::read).direction = Direction::read;
  replay.trace_step = std::max<std::int64_t>(1, (calls_ + most_traced - 1) / most_traced);
  record.events.reserve(static_cast<std::size_t>(calls_ / replay.trace_step + 1));
  Status status = open_session(configuration);
  if (status.ok()) status = prepare(replay);
  guard_.left();
  if (status = meet(std::move(status)); !status) return status.error();

  const bool asks_devices = job_.node_rank == 0;
  std::array<std::optional<std::int64_t>, 2> before;
  for (const Direction direction : {Direction::write, Direction::read}) {
    if (asks_devices) before[place_of(direction)] = moved_by_devices({work_.folder}, direction);
  }
  if (status = meet({}); !status) return status.error();
  const std::int64_t start_ns = monotonic_ns();
  replay.last_end_ns = start_ns;
  status = replay_all(replay);
  guard_.left();
  std::int64_t wait_ns = 0;
  if (status = meet(std::move(status), &wait_ns); !status) return status.error();
  for (PhaseRecord& phase : replay.phases) leave_out_pauses(start_ns, &phase);

  for (const Direction direction : {Direction::write, Direction::read}) {
    PhaseRecord& phase = replay.phase(direction);
    phase.wait_ns = wait_ns;
    phase.opening_ns = phase.start_ns;
    phase.closed_ns = phase.end_ns;
    phase.trace_step = replay.trace_step;
    if (before[place_of(direction)]) {
      const auto after = moved_by_devices({work_.folder}, direction);
      phase.device_known = after.has_value();
      if (after) phase.device_bytes = *after - *before[place_of(direction)];
    }
    if (direction == Direction::write ? work_.writes : work_.reads) record.phases.push_back(phase);
  }
  if (core_.verify) status = verify(replay);
  guard_.left();
  if (status = meet(std::move(status)); !status) return status.error();
  if (status = meet(remove_files()); !status) return status.error();
  return record;
}

// Ends a phase earlier on all ranks, by the shortest time that a rank spent between the phase's
// calls: so the span of the phase over all ranks does not have the time between calls, but is never
// shorter than the calls of a rank (as in measurement/aggregate.hpp). A rank without calls was
// active at no other time than others. The ranks began together at `start_ns`. Collective.
void Executor::leave_out_pauses(std::int64_t start_ns, PhaseRecord* phase) const {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  const bool active = phase->operations > 0;
  const std::array<std::int64_t, 2> mine{
      active ? phase->start_ns - start_ns : never,
      active ? phase->end_ns - phase->start_ns - phase->io_ns : never};
  std::array<std::int64_t, 2> least{};
  MPI_Allreduce(mine.data(), least.data(), 2, MPI_INT64_T, MPI_MIN, job_.world);
  if (active) {
    phase->end_ns -= least[1];
  } else {
    phase->start_ns = phase->end_ns = start_ns + (least[0] == never ? 0 : least[0]);
  }
}

// Makes the files and bytes that exist before the replay.
Status Executor::prepare(const Replay& replay) {
  for (const auto& [number, needs] : needs_) {
    if (!needs.exists && needs.prepared.empty()) continue;
    const std::string& path = path_of(number);
    guard_.entering("preparing", &path, -1);
    auto opened = storage::File::open(path, {.write = true, .create = true});
    if (!opened) return opened.error();
    if (needs.prepared.empty()) continue;
    auto file = open(path, true);
    if (!file) return file.error();
    for (const auto& [begin, end] : needs.prepared.ranges()) {
      Status moved = move_range(replay, *file.value(), number, Direction::write, begin, end);
      if (!moved) return moved;
    }
    if (Status closed = file.value()->close(); !closed) return closed;
    if (!core_.drop_cache) continue;
    if (Status synced = opened.value().sync(); !synced) return synced;
    const std::int64_t end = needs.prepared.ranges().rbegin()->second;
    if (Status dropped = storage::drop_cached_pages(opened.value(), 0, end); !dropped) {
      return dropped;
    }
  }
  return {};
}

Status Executor::move_range(const Replay& replay, File& file, std::int64_t number,
                            Direction direction, std::int64_t begin, std::int64_t end) {
  const std::int64_t most = memory_.most_bytes();
  const PayloadStream stream = stream_of(replay, number);
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t bytes = std::min(most, end - at);
    const bool writes = direction == Direction::write;
    std::byte* const buffer =
        writes ? memory_.fill(stream, at, bytes) : memory_.hide(stream, at, bytes);
    guard_.entering(writes ? "write" : "read", &path_of(number), at);
    Status moved =
        file.move({.direction = direction, .buffer = buffer, .bytes = bytes, .offset = at});
    if (!moved) return moved;
    if (!writes) {
      Status right =
          compared(replay, number, bytes, memory_.check(stream, at, bytes, end_of(number)));
      if (!right) return right;
    }
    at += bytes;
  }
  return {};
}

// Takes the outcome of a comparison.
Status Executor::compared(const Replay& replay, std::int64_t file, std::int64_t bytes,
                          const std::vector<PayloadMismatch>& mismatches) {
  replay.record.bytes_verified += bytes;
  if (mismatches.empty()) return {};
  faults_.push_back({mismatches.front(), path_of(file), replay.repetition, "read"});
  return wrong_data_error(faults_.back(), job_.rank);
}

std::int64_t Executor::end_of(std::int64_t file) const {
  return work_.record.files[static_cast<std::size_t>(file)].end;
}

// Wrong data does not end the calls of ranks that make some together: the others would wait.
Status Executor::replay_all(Replay& replay) {
  Status right;
  for (const RankRecord* record : records_) {
    CallCursor cursor(*record);
    for (ReplayedCall call; cursor.next(&call);) {
      const auto gap = static_cast<double>(call.gap_ns) * work_.time_scale;
      const std::int64_t until = replay.last_end_ns + static_cast<std::int64_t>(gap);
      const bool checks = calls::is_reading(call.kind) && core_.verify && right.ok();
      const PayloadStream stream = stream_of(replay, call.file);
      if (calls::is_writing(call.kind)) memory_.fill(stream, call);
      if (checks) memory_.hide(stream, call);
      wait(until);
      if (Status made = make(replay, call); !made) return made;
      if (checks) {
        const auto mismatches = memory_.check(stream, call, end_of(call.file));
        right = compared(replay, call.file, call.bytes, mismatches);
        if (!right && !together_session_) return right;
      }
    }
  }
  Status closed = close_all(replay);
  return right.ok() ? closed : right;
}

// Does busy work, or sleeps, until a time has come.
void Executor::wait(std::int64_t until_ns) {
  constexpr std::int64_t some_operations = 1024;
  constexpr std::int64_t longest_sleep_ns = 50'000'000;
  if (monotonic_ns() < until_ns) guard_.left();
  while (monotonic_ns() < until_ns || guard_.ending()) {
    // While the guard's thread removes everything and ends the process, no file may be made.
    if (work_.sleeps || guard_.ending()) {
      const std::int64_t sleep_ns = guard_.ending() ? longest_sleep_ns : until_ns - monotonic_ns();
      std::this_thread::sleep_for(
          std::chrono::nanoseconds(std::clamp<std::int64_t>(sleep_ns, 0, longest_sleep_ns)));
      continue;
    }
    work_value_ += busy_work(some_operations, {});
  }
}

Status Executor::make(Replay& replay, const ReplayedCall& call) {
  Status status;
  switch (call.kind) {
    case CallKind::open:
      status = open_file(replay, call);
      break;
    case CallKind::close:
      status = close_file(replay, call.file);
      break;
    case CallKind::read:
    case CallKind::write:
    case CallKind::read_all:
    case CallKind::write_all:
      status = move(replay, call);
      break;
    case CallKind::sync:
      status = sync_file(replay, call.file);
      break;
    case CallKind::truncate:
      status = truncate_file(replay, call);
      break;
    case CallKind::loop:
      break;
  }
  replay.last_end_ns = monotonic_ns();
  return status;
}

Status Executor::open_file(Replay& replay, const ReplayedCall& call) {
  const bool writes = (call.bytes & calls::open_writes) != 0;
  const std::string& path = path_of(call.file);
  guard_.entering("open", &path, -1);
  const std::int64_t start = monotonic_ns();
  const FileFacts& facts = work_.record.files[static_cast<std::size_t>(call.file)];
  if (writes && (call.bytes & calls::open_truncates) != 0 && facts.users < 2 &&
      needs_[call.file].prepared.empty() && ::truncate(path.c_str(), 0) != 0 && errno != ENOENT) {
    return system_failure("truncate", path, -1, errno);
  }
  OpenFile opened;
  opened.is_together = together_session_ && (call.bytes & calls::open_together) != 0;
  opened.writes = writes;
  auto file = open(path, writes, opened.is_together);
  replay.phase_of(writes).open_ns += monotonic_ns() - start;
  if (!file) return file.error();
  (opened.is_together ? opened.together : opened.own) = std::move(file).value();
  replay.open_files.add(call.file, std::move(opened));
  return {};
}

// A call on a file that is not open opens it.
Result<OpenFile*> Executor::file_for(Replay& replay, std::int64_t file, bool write) {
  if (OpenFile* const opened = replay.open_files.find(file, write)) return opened;
  ReplayedCall call{.kind = CallKind::open, .file = file};
  if (write) call.bytes = calls::open_writes | calls::open_creates;
  if (Status status = open_file(replay, call); !status) return status.error();
  return replay.open_files.last(file);
}

// Returns the opening for calls that the rank makes alone.
Result<File*> Executor::own_file(Replay& replay, OpenFile& opened, std::int64_t file) {
  if (!opened.own) {
    guard_.entering("open", &path_of(file), -1);
    const std::int64_t start = monotonic_ns();
    auto own = open(path_of(file), opened.writes);
    replay.phase_of(opened.writes).open_ns += monotonic_ns() - start;
    if (!own) return own.error();
    opened.own = std::move(own).value();
  }
  return opened.own.get();
}

Status Executor::move(Replay& replay, const ReplayedCall& call) {
  const bool writes = calls::is_writing(call.kind);
  const Direction direction = writes ? Direction::write : Direction::read;
  OpenFile* together = nullptr;
  if (calls::is_collective(call.kind)) {
    together = replay.open_files.find_together(call.file, writes);
  }
  if (together == nullptr && call.bytes == 0) return {};
  auto found =
      together != nullptr ? Result<OpenFile*>(together) : file_for(replay, call.file, writes);
  if (!found) return found.error();
  OpenFile& opened = *found.value();
  opened.written = opened.written || writes;
  File* file = opened.together.get();
  if (together == nullptr) {
    auto own = own_file(replay, opened, call.file);
    if (!own) return own.error();
    file = own.value();
  }
  // All ranks of a collective call set a view, as some of them may have to.
  const array::BytePattern block(0, call.bytes);
  BlocksRequest blocks{direction, memory_.of(call), call.bytes, {&block, 1}, call.offset};
  if (call.shape != nullptr) blocks.patterns = call.shape->patterns;
  guard_.entering(writes ? "write" : "read", &path_of(call.file), call.offset);
  const std::int64_t start = monotonic_ns();
  Status status = together != nullptr || call.shape != nullptr
                      ? file->move_blocks(blocks)
                      : file->move({.direction = direction,
                                    .buffer = blocks.memory,
                                    .bytes = call.bytes,
                                    .offset = call.offset});
  const std::int64_t end = monotonic_ns();
  PhaseRecord& phase = replay.phase(direction);
  if (phase.operations++ == 0) phase.start_ns = start;
  phase.end_ns = end;
  phase.bytes += call.bytes;
  phase.io_ns += end - start;
  phase.latencies.record(end - start);
  if (replay.transfers++ % replay.trace_step == 0) {
    replay.record.events.push_back({.repetition = replay.repetition,
                                    .function = writes ? function_write : function_read,
                                    .operation = writes ? Operation::write : Operation::read,
                                    .bin = static_cast<std::int32_t>(call.file),
                                    .start_ns = start,
                                    .end_ns = end,
                                    .foreground_ns = end - start,
                                    .bytes = call.bytes,
                                    .offset_bytes = call.offset});
  }
  return status;
}

Status Executor::sync_file(Replay& replay, std::int64_t file) {
  if (OpenFile* const together = replay.open_files.find_together(file, true)) {
    return sync_opened(replay, *together, file);
  }
  auto found = file_for(replay, file, true);
  if (!found) return found.error();
  return sync_opened(replay, *found.value(), file);
}

Status Executor::sync_opened(Replay& replay, OpenFile& opened, std::int64_t file) {
  opened.written = false;
  guard_.entering("fsync", &path_of(file), -1);
  const std::int64_t start = monotonic_ns();
  Status status = opened.together ? opened.together->sync() : Status();
  if (status.ok() && opened.own) status = opened.own->sync();
  const std::int64_t end = monotonic_ns();
  PhaseRecord& phase = replay.phase(Direction::write);
  // Before the first write there is nothing that it would make durable.
  if (phase.operations > 0) {
    phase.end_ns = end;
    phase.io_ns += end - start;
    phase.sync_ns += end - start;
  }
  return status;
}

Status Executor::truncate_file(Replay& replay, const ReplayedCall& call) {
  auto found = file_for(replay, call.file, true);
  if (!found) return found.error();
  const std::string& path = path_of(call.file);
  const FileFacts& facts = work_.record.files[static_cast<std::size_t>(call.file)];
  const bool earlier = !needs_[call.file].prepared.empty();
  guard_.entering("truncate", &path, -1);
  const std::int64_t length = replayed_length(call.offset, facts, earlier);
  return ::truncate(path.c_str(), length) == 0 ? Status()
                                               : system_failure("truncate", path, -1, errno);
}

// Closing a file that is not open does nothing: descriptors that dup() made are closed, too.
Status Executor::close_file(Replay& replay, std::int64_t file) {
  OpenFile* const opened = replay.open_files.last(file);
  if (opened == nullptr) return {};
  // Making a file durable that is open together is collective: a rank does so even if it has not
  // written itself.
  const bool asked = opened->written || (opened->is_together && opened->writes);
  if (core_.durability != storage::Durability::none && asked) {
    if (Status synced = sync_opened(replay, *opened, file); !synced) return synced;
  }
  guard_.entering("close", &path_of(file), -1);
  const std::int64_t start = monotonic_ns();
  Status status = opened->own ? opened->own->close() : Status();
  if (status.ok() && opened->together) status = opened->together->close();
  replay.phase_of(opened->writes).close_ns += monotonic_ns() - start;
  replay.open_files.remove_last(file);
  return status;
}

Status Executor::close_all(Replay& replay) {
  OpenFiles& files = replay.open_files;
  for (std::int64_t file = files.any_open(); file >= 0; file = files.any_open()) {
    if (Status closed = close_file(replay, file); !closed) return closed;
  }
  return {};
}

Status Executor::verify(Replay& replay) {
  for (const auto& [number, needs] : needs_) {
    if (needs.written.empty()) continue;
    guard_.entering("open", &path_of(number), -1);
    auto file = open(path_of(number), false);
    if (!file) return file.error();
    for (const auto& [begin, end] : needs.written.ranges()) {
      Status right = move_range(replay, *file.value(), number, Direction::read, begin, end);
      if (!right) return right;
    }
    if (Status closed = file.value()->close(); !closed) return closed;
  }
  return {};
}

// Another rank that uses a file may have removed it.
Status Executor::remove_files() {
  for (const auto& [number, path] : paths_) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return system_failure("unlink", path, -1, errno);
    }
  }
  return {};
}

}  // namespace weir::bench::replay

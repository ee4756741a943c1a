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
#include <span>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "measurement/busy_work.hpp"
#include "measurement/device_traffic.hpp"
#include "measurement/page_cache.hpp"
#include "system/file.hpp"

namespace weir::bench::replay {
namespace {

constexpr std::int64_t word = sizeof(std::uint64_t);
constexpr std::int64_t most_traced = 100'000;
constexpr std::int64_t least_buffer = 1 << 20;

std::size_t place_of(Direction direction) { return direction == Direction::write ? 0 : 1; }

}  // namespace

// The state of one repetition.
struct Executor::Replay {
  const Configuration& configuration;
  std::int32_t repetition;
  RepetitionRecord& record;
  std::array<PhaseRecord, 2> phases{};  // by place_of()
  std::map<std::int64_t, std::vector<OpenFile>> open_files{};
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
  const std::int64_t buffer = std::max(sums.largest_bytes, least_buffer) + 2 * word;
  const std::int64_t events = std::min(sums.reads + sums.writes, most_traced + 1);
  constexpr std::int64_t range_bytes = 64;  // of a node in a map
  const auto ranges = std::min<std::int64_t>(sums.reads + sums.writes, most_ranges);
  return Ring::memory_bytes(1, buffer) + events * static_cast<std::int64_t>(sizeof(Event)) +
         ranges * range_bytes;
}

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  return agree_on(job_, std::move(mine), &failed_rank_, wait_ns);
}

Status Executor::begin() {
  std::int64_t largest = least_buffer;
  for (const std::int64_t rank : work_.part.recorded_ranks) {
    const auto place = static_cast<std::size_t>(rank);
    records_.push_back(&work_.record.ranks[place]);
    largest = std::max(largest, work_.record.sums[place].largest_bytes);
    calls_ += work_.record.sums[place].reads + work_.record.sums[place].writes;
  }
  auto needs = needs_of(records_, work_.record.files);
  Status status = needs ? Status() : needs.error();
  if (needs) needs_ = std::move(needs).value();
  if (status.ok()) {
    auto ring = Ring::create(1, largest + 2 * word);
    if (ring) {
      memory_ = std::move(ring).value();
    } else {
      status = ring.error();
    }
  }
  return meet(std::move(status));
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
  auto session = bench::open_session(*configuration.api, {.communicator = job_.world,
                                                          .deadline_seconds = job_.deadline_seconds,
                                                          .striping = core_.striping,
                                                          .durability = storage::Durability::full,
                                                          .collective = false});
  if (!session) return session.error();
  session_ = std::move(session).value();
  session_of_ = configuration.api;
  return {};
}

Status Executor::finish() { return session_ ? session_->close() : Status(); }

Result<std::unique_ptr<File>> Executor::open(const std::string& path, bool write) {
  return session_->open(
      {.communicator = MPI_COMM_SELF, .path = path, .write = write, .create = write});
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
  const std::int64_t most = memory_.bytes_each() - 2 * word;
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t bytes = std::min(most, end - at);
    const bool writes = direction == Direction::write;
    std::byte* const buffer = writes ? fill(replay, number, at, bytes) : memory_.at(0) + at % word;
    if (!writes) put_edges(replay, number, at, bytes);
    guard_.entering(writes ? "write" : "read", &path_of(number), at);
    Status moved =
        file.move({.direction = direction, .buffer = buffer, .bytes = bytes, .offset = at});
    if (!moved) return moved;
    if (!writes) {
      if (Status right = check(replay, number, at, bytes); !right) return right;
    }
    at += bytes;
  }
  return {};
}

namespace {

// The words of the payload that contain some bytes of a file.
struct Words {
  std::uint64_t first;
  std::size_t count;
};
Words words_around(std::int64_t offset, std::int64_t bytes) {
  const std::int64_t first = offset / word;
  return {static_cast<std::uint64_t>(first),
          static_cast<std::size_t>((offset + bytes - 1) / word - first + 1)};
}

std::span<std::uint64_t> as_words(std::byte* memory, std::size_t count) {
  return {reinterpret_cast<std::uint64_t*>(memory), count};
}

}  // namespace

// Fills the buffer with the payload of a range, and returns where it begins.
std::byte* Executor::fill(const Replay& replay, std::int64_t file, std::int64_t offset,
                          std::int64_t bytes) {
  const Words words = words_around(offset, bytes);
  fill_payload(stream_of(replay, file), words.first, as_words(memory_.at(0), words.count));
  return memory_.at(0) + offset % word;
}

// Fills the words at both ends of a range, which it may cover only partly, before it is read.
void Executor::put_edges(const Replay& replay, std::int64_t file, std::int64_t offset,
                         std::int64_t bytes) {
  const Words words = words_around(offset, bytes);
  const PayloadStream stream = stream_of(replay, file);
  const auto memory = as_words(memory_.at(0), words.count);
  fill_payload(stream, words.first, memory.first(1));
  fill_payload(stream, words.first + words.count - 1, memory.last(1));
  // What a read does not bring must not pass for what it should have brought.
  std::fill_n(memory_.at(0) + offset % word, bytes, std::byte{0xa5});
}

Status Executor::check(const Replay& replay, std::int64_t file, std::int64_t offset,
                       std::int64_t bytes) {
  const Words words = words_around(offset, bytes);
  const std::int64_t end = work_.record.files[static_cast<std::size_t>(file)].end;
  const auto mismatches =
      check_payload(stream_of(replay, file), words.first, as_words(memory_.at(0), words.count), {},
                    static_cast<std::uint64_t>(end / word + 1), 1);
  replay.record.bytes_verified += bytes;
  if (mismatches.empty()) return {};
  faults_.push_back({mismatches.front(), path_of(file), replay.repetition, "read"});
  return wrong_data_error(faults_.back(), job_.rank);
}

Status Executor::replay_all(Replay& replay) {
  for (const RankRecord* record : records_) {
    CallCursor cursor(*record);
    for (ReplayedCall call; cursor.next(&call);) {
      const auto gap = static_cast<double>(call.gap_ns) * work_.time_scale;
      const std::int64_t until = replay.last_end_ns + static_cast<std::int64_t>(gap);
      if (call.kind == CallKind::write) fill(replay, call.file, call.offset, call.bytes);
      if (call.kind == CallKind::read && core_.verify) {
        put_edges(replay, call.file, call.offset, call.bytes);
      }
      wait(until);
      if (Status made = make(replay, call); !made) return made;
      if (call.kind == CallKind::read && core_.verify) {
        Status right = check(replay, call.file, call.offset, call.bytes);
        if (!right) return right;
      }
    }
  }
  return close_all(replay);
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
  auto file = open(path, writes);
  replay.phase_of(writes).open_ns += monotonic_ns() - start;
  if (!file) return file.error();
  replay.open_files[call.file].push_back({std::move(file).value(), writes, false});
  return {};
}

// A call on a file that is not open opens it.
Result<Executor::OpenFile*> Executor::file_for(Replay& replay, std::int64_t file, bool write) {
  std::vector<OpenFile>& opened = replay.open_files[file];
  for (std::size_t i = opened.size(); i-- > 0;) {
    if (opened[i].writes || !write) return &opened[i];
  }
  ReplayedCall call{.kind = CallKind::open, .file = file};
  if (write) call.bytes = calls::open_writes | calls::open_creates;
  if (Status status = open_file(replay, call); !status) return status.error();
  return &opened.back();
}

Status Executor::move(Replay& replay, const ReplayedCall& call) {
  const bool writes = call.kind == CallKind::write;
  const Direction direction = writes ? Direction::write : Direction::read;
  auto found = file_for(replay, call.file, writes);
  if (!found) return found.error();
  OpenFile& file = *found.value();
  file.written = file.written || writes;
  guard_.entering(writes ? "write" : "read", &path_of(call.file), call.offset);
  const std::int64_t start = monotonic_ns();
  Status status = file.file->move({.direction = direction,
                                   .buffer = memory_.at(0) + call.offset % word,
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
  auto found = file_for(replay, file, true);
  if (!found) return found.error();
  found.value()->written = false;
  guard_.entering("fsync", &path_of(file), -1);
  const std::int64_t start = monotonic_ns();
  Status status = found.value()->file->sync();
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
  std::vector<OpenFile>& opened = replay.open_files[file];
  if (opened.empty()) return {};
  if (core_.durability != storage::Durability::none && opened.back().written) {
    if (Status synced = sync_file(replay, file); !synced) return synced;
  }
  guard_.entering("close", &path_of(file), -1);
  const std::int64_t start = monotonic_ns();
  Status status = opened.back().file->close();
  replay.phase_of(opened.back().writes).close_ns += monotonic_ns() - start;
  opened.pop_back();
  return status;
}

Status Executor::close_all(Replay& replay) {
  for (auto& [number, opened] : replay.open_files) {
    while (!opened.empty()) {
      if (Status closed = close_file(replay, number); !closed) return closed;
    }
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

#include "ranks/life_signs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>

#include "common/cache_line.hpp"
#include "ranks/process.hpp"

namespace weir::ranks {
namespace {

constexpr std::int64_t longest_interval_ns = 1'000'000'000;
constexpr std::int64_t shortest_interval_ns = 10'000'000;
constexpr std::int64_t looks_per_deadline = 8;
// A waiting rank may see that another one has ended before it sees that its own wait is over.
constexpr std::uint32_t looks_until_sure = 2;
constexpr unsigned sight_bits = 8;
constexpr std::int64_t not_quiet = -1;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "?";
}

}  // namespace

struct LifeSigns::Sign {
  // Written by the rank itself.
  alignas(cache_line_bytes) std::atomic<std::int32_t> pid{0};  // 0: it is invisible
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> pid_namespace{0};
  std::atomic<std::uint32_t> left{0};
  alignas(cache_line_bytes) std::array<std::atomic<std::uint32_t>, 3> during{};
  std::atomic<std::uint64_t> progress{0};
  // Written by the rank that examines the signs.
  alignas(cache_line_bytes) std::atomic<std::uint64_t> seen_ticks{0};
  std::atomic<std::uint64_t> seen_progress{0};
  std::atomic<std::int64_t> quiet_ns{not_quiet};
  std::atomic<std::uint32_t> seen_gone{0};
};

struct LifeSigns::Board {
  alignas(cache_line_bytes) std::atomic<std::int64_t> looked_ns{0};
  std::atomic<std::int64_t> hope_ns{0};
  // The place for which waiting is in vain, plus 1; the lowest bits hold the state that was seen
  // there.
  std::atomic<std::uint64_t> verdict{0};
  std::atomic<bool> neighbours_watched{false};
};

std::int64_t LifeSigns::memory_bytes(std::int64_t places) {
  static_assert(sizeof(Board) % cache_line_bytes == 0 && sizeof(Sign) % cache_line_bytes == 0);
  return static_cast<std::int64_t>(sizeof(Board)) +
         places * static_cast<std::int64_t>(sizeof(Sign));
}

void LifeSigns::prepare(std::byte* memory, std::int64_t places) {
  new (memory) Board;
  for (std::int64_t place = 0; place < places; ++place) {
    new (memory + sizeof(Board) + static_cast<std::size_t>(place) * sizeof(Sign)) Sign;
  }
}

LifeSigns::Sign& LifeSigns::sign(std::int64_t place) const {
  return reinterpret_cast<Sign*>(board_ + 1)[place];
}

LifeSigns::LifeSigns(std::byte* memory, std::span<const int> ranks, std::int64_t own_place,
                     bool has_other_nodes, double deadline_seconds)
    : board_(reinterpret_cast<Board*>(memory)),
      ranks_(ranks.begin(), ranks.end()),
      own_place_(own_place),
      has_other_nodes_(has_other_nodes),
      deadline_ns_(static_cast<std::int64_t>(deadline_seconds * 1e9)),
      interval_ns_(
          std::clamp(deadline_ns_ / looks_per_deadline, shortest_interval_ns, longest_interval_ns)),
      pid_namespace_(own_pid_namespace()) {
  const std::int32_t pid = ::getpid();
  const Process process = look_at_process(pid);
  if (process.state == ProcessState::unknown || pid_namespace_ == 0) return;
  Sign& own = sign(own_place_);
  own.started.store(process.started, std::memory_order_relaxed);
  own.pid_namespace.store(pid_namespace_, std::memory_order_relaxed);
  own.pid.store(pid, std::memory_order_release);
}

void LifeSigns::leave() { sign(own_place_).left.store(1, std::memory_order_release); }

void LifeSigns::watch_neighbours(bool watched) {
  board_->neighbours_watched.store(watched, std::memory_order_relaxed);
}

bool LifeSigns::others_are_watched() const {
  return has_other_nodes_ && board_->neighbours_watched.load(std::memory_order_relaxed);
}

double LifeSigns::deadlines_without_hope() const {
  return has_other_nodes_ && !others_are_watched() ? most_unseen_deadlines : 1;
}

LifeSigns::During::During(LifeSigns* signs, What what)
    : count_(signs == nullptr
                 ? nullptr
                 : &signs->sign(signs->own_place_).during.at(static_cast<std::size_t>(what))) {
  if (count_ != nullptr) count_->fetch_add(1, std::memory_order_release);
}

LifeSigns::During::~During() {
  if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_release);
}

void LifeSigns::got_on() { sign(own_place_).progress.fetch_add(1, std::memory_order_relaxed); }

std::int64_t LifeSigns::hope_ns() const { return board_->hope_ns.load(std::memory_order_acquire); }

LifeSigns::Sight LifeSigns::see(std::int64_t place) const {
  Sign& seen = sign(place);
  if (seen.left.load(std::memory_order_acquire) != 0) return Sight::left;
  const std::int32_t pid = seen.pid.load(std::memory_order_acquire);
  Process process;
  if (pid != 0 && seen.pid_namespace.load(std::memory_order_relaxed) == pid_namespace_) {
    process = look_at_process(pid);
    if (process.state != ProcessState::unknown && process.state != ProcessState::ended &&
        process.started != seen.started.load(std::memory_order_relaxed)) {
      process.state = ProcessState::ended;
    }
  }
  if (process.state == ProcessState::ended) return Sight::ended;
  if (process.state == ProcessState::stopped) return Sight::stopped;
  const auto is_during = [&](What what) {
    return seen.during.at(static_cast<std::size_t>(what)).load(std::memory_order_acquire) != 0;
  };
  const std::uint64_t progress = seen.progress.load(std::memory_order_relaxed);
  const bool got_on = seen.seen_progress.exchange(progress, std::memory_order_relaxed) != progress;
  const bool computed =
      seen.seen_ticks.exchange(process.processor_ticks, std::memory_order_relaxed) !=
      process.processor_ticks;
  if (is_during(What::storage) || got_on) return Sight::hope;
  if (is_during(What::waiting)) return Sight::waits;
  if (is_during(What::call)) return Sight::hope;
  if (process.state == ProcessState::unknown || process.state == ProcessState::busy || computed) {
    return Sight::hope;
  }
  return Sight::idle;
}

// The time since the last examination counts as silence only up to a limit: no rank examines the
// signs while the whole job is stopped, and a silence that was seen long ago may have ended since.
void LifeSigns::look_at_all(std::int64_t now_ns, std::int64_t since_last_ns) {
  const std::int64_t counted_ns =
      std::min(since_last_ns, std::max(2 * interval_ns_, deadline_ns_ / 4));
  bool hope = others_are_watched();
  for (std::int64_t place = 0; place < static_cast<std::int64_t>(ranks_.size()); ++place) {
    Sign& seen = sign(place);
    const Sight sight = see(place);
    hope = hope || sight == Sight::hope;
    bool in_vain = false;
    if (sight == Sight::ended || sight == Sight::left) {
      in_vain = seen.seen_gone.fetch_add(1, std::memory_order_relaxed) + 1 >= looks_until_sure;
    } else if (sight == Sight::stopped || sight == Sight::idle) {
      const std::int64_t before_ns = seen.quiet_ns.load(std::memory_order_relaxed);
      const std::int64_t quiet_ns = before_ns == not_quiet ? 0 : before_ns + counted_ns;
      seen.quiet_ns.store(quiet_ns, std::memory_order_relaxed);
      in_vain = quiet_ns >= deadline_ns_;
    } else {
      seen.quiet_ns.store(not_quiet, std::memory_order_relaxed);
    }
    if (!in_vain) continue;
    judge(place, sight);
    return;
  }
  if (hope) board_->hope_ns.store(now_ns, std::memory_order_release);
}

bool LifeSigns::look(std::int64_t now_ns) {
  std::int64_t looked = board_->looked_ns.load(std::memory_order_acquire);
  if (board_->verdict.load(std::memory_order_acquire) == 0 && now_ns - looked >= interval_ns_ &&
      board_->looked_ns.compare_exchange_strong(looked, now_ns, std::memory_order_acq_rel)) {
    look_at_all(now_ns, now_ns - looked);
  }
  return board_->verdict.load(std::memory_order_acquire) == 0;
}

void LifeSigns::judge(std::int64_t place, Sight sight) {
  std::uint64_t none = 0;
  board_->verdict.compare_exchange_strong(
      none, static_cast<std::uint64_t>(place + 1) << sight_bits | static_cast<std::uint64_t>(sight),
      std::memory_order_acq_rel);
}

std::string LifeSigns::suspicion() {
  // The first caller names one rank for all. Ranks that have left are considered last, since most
  // of them left after they had called this themselves.
  for (const bool may_have_left : {false, true}) {
    for (std::int64_t place = 0; place < static_cast<std::int64_t>(ranks_.size()); ++place) {
      if (place == own_place_ || board_->verdict.load(std::memory_order_acquire) != 0) continue;
      const Sight sight = see(place);
      if (sight == Sight::waits || (sight == Sight::left && !may_have_left)) continue;
      judge(place, sight);
    }
  }
  const std::uint64_t verdict = board_->verdict.load(std::memory_order_acquire);
  if (verdict == 0) {
    if (!has_other_nodes_) return "all ranks wait for each other, in different calls";
    return others_are_watched() ? "a rank of another node is missing or hangs"
                                : "a rank of another node is missing or hangs (it cannot be named, "
                                  "because the hosts cannot connect to each other by TCP)";
  }
  const auto place = static_cast<std::int64_t>(verdict >> sight_bits) - 1;
  const char* what = "is stopped";
  switch (static_cast<Sight>(verdict & ((1U << sight_bits) - 1))) {
    case Sight::ended:
      what = "has ended";
      break;
    case Sight::left:
      what = "has given the session up";
      break;
    case Sight::idle:
      what = "has not made the call, and its process is idle";
      break;
    case Sight::hope:
      what = "has not made the call, or its storage does not respond";
      break;
    case Sight::stopped:
    case Sight::waits:
      break;
  }
  return fmt::format("rank {} (process {} on host {}) {}", ranks_[static_cast<std::size_t>(place)],
                     sign(place).pid.load(std::memory_order_relaxed), host_name(), what);
}

}  // namespace weir::ranks

// A waiting rank leaves the processor to others by these calls of the system, for waiting.hpp and
// wake_up.hpp. Simulated ranks, which share one thread, have sim/library/pauses.cpp instead.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "common/clock.hpp"
#include "ranks/waiting.hpp"
#include "ranks/wake_up.hpp"

namespace weir::ranks {
namespace {

// A wait begins with yields. There are few of them: where there are more ranks than cores, waiting
// ranks take turns with ranks that copy, and each turn costs the latter a context switch.
constexpr std::int64_t single_yields = 20;
// After these yields, while others return at once because nobody else wants the core, the rank
// yields for some 100 us more, within which most messages between nodes arrive: the shortest sleep
// that the system offers takes about 60 us.
constexpr std::int64_t long_looks = 10;
constexpr std::int64_t long_look_ns = 10'000;
constexpr std::int64_t yield_alone_ns = 2'000;
constexpr long sleep_ns = 10000;

// Yields for as long as a long look takes. Returns false as soon as another process has run.
bool yields_alone() {
  const std::int64_t began = monotonic_ns();
  std::int64_t now = began;
  while (now - began < long_look_ns) {
    ::sched_yield();
    const std::int64_t before = std::exchange(now, monotonic_ns());
    if (now - before > yield_alone_ns) return false;
  }
  return true;
}

// Several times what two ranks need that are awake on their own cores (some 20 us).
constexpr int polls_before_sleep = 1000;

constexpr long shortest_nap_ns = 250'000;
constexpr long longest_nap_ns = 8'000'000;
constexpr std::int64_t longer_naps = 3;  // each is half as long as the one before

}  // namespace

void yield_or_doze(std::int64_t count) {
  if (count < single_yields) {
    ::sched_yield();
    return;
  }
  if (count < single_yields + long_looks && yields_alone()) return;
  const timespec moment{0, sleep_ns};
  ::nanosleep(&moment, nullptr);
}

long nap_ns(std::int64_t ranks_per_core, std::int64_t naps_before) {
  const std::int64_t longer = std::max<std::int64_t>(longer_naps - naps_before, 0);
  const std::int64_t most = longest_nap_ns / shortest_nap_ns;
  return shortest_nap_ns *
         static_cast<long>(std::min(std::min(ranks_per_core, most) << longer, most));
}

bool changes_soon(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                  std::int64_t ranks_per_core) {
  for (int poll = 0; poll < polls_before_sleep && ranks_per_core <= 1; ++poll) {
    if (word.load(std::memory_order_acquire) != value) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

// Neither call uses FUTEX_PRIVATE: the word is shared between processes.

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
  const timespec timeout{0, nanoseconds};
  ::syscall(SYS_futex, static_cast<void*>(&word), FUTEX_WAIT, value, &timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int most) {
  ::syscall(SYS_futex, static_cast<void*>(&word), FUTEX_WAKE, most, nullptr, nullptr, 0);
}

}  // namespace weir::ranks

// Lets a process of a node sleep until another process has work for it. Where ranks share cores, it
// does so without polling, since every poll costs the other ranks a context switch.
//
//   sleeper   seen := count(); looks for something to do; when there is nothing, sleep(seen)
//   other     makes something to do; notify()
//
// A notify() between count() and sleep() makes sleep() return at once, so none is missed.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::ranks {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");

// Lets a process sleep on a word in memory that processes share, until another process changes it.
// Returns if the word differs from `value`, at once if it already does; when the process is woken;
// or after `nanoseconds`, which must be less than a second. It may also return spuriously.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds);
// Wakes at most `most` processes that sleep on the word.
void futex_wake(std::atomic<std::uint32_t>& word, int most);

// Polls a word in memory that processes share for some 20 us, and returns whether it has come to
// differ from `value`. To be woken takes longer than most waits of ranks that are at work on cores
// of their own. If ranks share cores (`ranks_per_core` above 1), the processor is left to them:
// returns false at once.
[[nodiscard]] bool changes_soon(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                                std::int64_t ranks_per_core);

// Lies in memory that processes share, and is zeroed at first.
class WakeUp {
 public:
  [[nodiscard]] std::uint32_t count() const { return notified_.load(std::memory_order_acquire); }
  // Wakes the sleeper; takes a few nanoseconds if it does not sleep.
  void notify();
  // Waits until notify() was called after count() returned `seen`: polls first where each rank has
  // a core (changes_soon()), then sleeps for at most `nanoseconds`, which must be less than a
  // second. Only one process sleeps on a WakeUp.
  void sleep(std::uint32_t seen, long nanoseconds, std::int64_t ranks_per_core);

 private:
  std::atomic<std::uint32_t> notified_{0};
  std::atomic<std::uint32_t> asleep_{0};
};
}  // namespace weir::ranks

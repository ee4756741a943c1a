// How a process of a node sleeps until another one has something for it, without looking again and
// again: where ranks share cores, every look costs the others a switch of processes.
//
//   sleeper   seen := count(); looks for something to do; when there is nothing, sleep(seen)
//   other     makes something to do; notify()
//
// A notify() between count() and sleep() makes sleep() return at once, so none is missed.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::ranks {

// In memory that processes share; zeroed.
class WakeUp {
 public:
  [[nodiscard]] std::uint32_t count() const { return notified_.load(std::memory_order_acquire); }
  // Wakes the sleeper; a few nanoseconds when it does not sleep.
  void notify();
  // Sleeps until notify() was called since count() gave `seen`, at most `nanoseconds`, which are
  // below a second. Only one process sleeps on a WakeUp.
  void sleep(std::uint32_t seen, long nanoseconds);

 private:
  std::atomic<std::uint32_t> notified_{0};
  std::atomic<std::uint32_t> asleep_{0};
};
}  // namespace weir::ranks

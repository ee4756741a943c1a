// How a process of a node sleeps until another one has something for it, without looking again and
// again: where ranks share cores, every look costs the others a switch of processes.
//
//   sleeper   seen := count(); looks for something to do; when there is nothing, sleep(seen)
//   other     makes something to do; ring()
//
// A ring between count() and sleep() makes sleep() return at once, so none is missed.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::ranks {

// In memory that processes share; zeroed.
class Bell {
 public:
  [[nodiscard]] std::uint32_t count() const { return rung_.load(std::memory_order_acquire); }
  // Wakes the sleeper; a few nanoseconds when it does not sleep.
  void ring();
  // Until the bell was rung since it counted `seen`, at most `nanoseconds`, below a second. One
  // process sleeps on a bell.
  void sleep(std::uint32_t seen, long nanoseconds);

 private:
  std::atomic<std::uint32_t> rung_{0};
  std::atomic<std::uint32_t> asleep_{0};
};
}  // namespace weir::ranks

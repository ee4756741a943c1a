#include "ranks/bell.hpp"

#include "ranks/futex.hpp"

namespace weir::ranks {

void Bell::ring() {
  rung_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) != 0) futex_wake(rung_, 1);
}

void Bell::sleep(std::uint32_t seen, long nanoseconds) {
  asleep_.store(1, std::memory_order_seq_cst);
  // The kernel compares once more, so that a ring before this is not missed.
  if (rung_.load(std::memory_order_seq_cst) == seen) futex_wait(rung_, seen, nanoseconds);
  asleep_.store(0, std::memory_order_relaxed);
}

}  // namespace weir::ranks

#include "ranks/wake_up.hpp"

namespace weir::ranks {

void WakeUp::notify() {
  notified_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) != 0) futex_wake(notified_, 1);
}

void WakeUp::sleep(std::uint32_t seen, long nanoseconds, std::int64_t ranks_per_core) {
  if (changes_soon(notified_, seen, ranks_per_core)) return;
  asleep_.store(1, std::memory_order_seq_cst);
  // The kernel compares once more, so that a notify() before this is not missed.
  if (notified_.load(std::memory_order_seq_cst) == seen) futex_wait(notified_, seen, nanoseconds);
  asleep_.store(0, std::memory_order_relaxed);
}

}  // namespace weir::ranks

#include "ranks/wake_up.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace weir::ranks {

// Neither call uses FUTEX_PRIVATE: the word is shared between processes.

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
  const timespec timeout{0, nanoseconds};
  ::syscall(SYS_futex, static_cast<void*>(&word), FUTEX_WAIT, value, &timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int most) {
  ::syscall(SYS_futex, static_cast<void*>(&word), FUTEX_WAKE, most, nullptr, nullptr, 0);
}

void WakeUp::notify() {
  notified_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) != 0) futex_wake(notified_, 1);
}

void WakeUp::sleep(std::uint32_t seen, long nanoseconds) {
  asleep_.store(1, std::memory_order_seq_cst);
  // The kernel compares once more, so that a notify() before this is not missed.
  if (notified_.load(std::memory_order_seq_cst) == seen) futex_wait(notified_, seen, nanoseconds);
  asleep_.store(0, std::memory_order_relaxed);
}

}  // namespace weir::ranks

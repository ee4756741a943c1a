#include "aggregation/bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace weir::aggregation {
namespace {

// Not FUTEX_PRIVATE: the word is shared between processes.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  return ::syscall(SYS_futex, static_cast<void*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void Bell::ring() {
  rung_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) != 0) futex(rung_, FUTEX_WAKE, 1, nullptr);
}

void Bell::sleep(std::uint32_t seen, long nanoseconds) {
  asleep_.store(1, std::memory_order_seq_cst);
  // The kernel compares once more, so that a ring before this is not missed.
  if (rung_.load(std::memory_order_seq_cst) == seen) {
    const timespec timeout{0, nanoseconds};
    futex(rung_, FUTEX_WAIT, seen, &timeout);
  }
  asleep_.store(0, std::memory_order_relaxed);
}

}  // namespace weir::aggregation

#include "ranks/futex.hpp"

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

}  // namespace weir::ranks

// System calls that a signal interrupts before they have done anything. A program's timer or
// profiler sends such signals, and network file systems let them through: none of them is a reason
// for a step to fail.
//
// close() is not for this function: Linux frees the descriptor even when close() fails with EINTR
// (File::close()).
#pragma once

#include <cerrno>

namespace weir::storage {

// Makes the system call until no signal interrupts it. `call` returns what the system call
// returned: below 0 where it failed, with the reason in errno.
template <typename Call>
auto uninterrupted(const Call& call) {
  for (;;) {
    const auto answer = call();
    if (answer >= 0 || errno != EINTR) return answer;
  }
}

}  // namespace weir::storage

// A wrapper that repeats system calls that a signal interrupts before they have done anything. A
// program's timer or profiler sends such signals, and calls on network file systems can be
// interrupted by them. A step must not fail because of them.
//
// close() is not for this function: Linux frees the descriptor even when close() fails with EINTR
// (File::close()).
#pragma once

#include <cerrno>

namespace weir::storage {

// Repeats the system call until no signal interrupts it. `call` returns the result of the system
// call, which is below 0 if it failed, with the reason in errno.
template <typename Call>
auto uninterrupted(const Call& call) {
  for (;;) {
    const auto answer = call();
    if (answer >= 0 || errno != EINTR) return answer;
  }
}

}  // namespace weir::storage

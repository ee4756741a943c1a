// Asks the kernel to run a thread sooner when it is woken.
#pragma once

namespace weir::stager {

// Lets this thread run soon after it is woken, for a short time. The kernel (Linux 6.12 and later)
// gives a processor sooner to a thread that asks for short turns, and takes it back sooner; the
// thread's share of the processor stays the same. Older kernels ignore the wish, and so does this
// function where somebody has chosen another policy for the process.
void ask_for_short_turns();

}  // namespace weir::stager

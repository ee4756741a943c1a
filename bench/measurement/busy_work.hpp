// Arithmetic that takes the place of the calculation between transfers (Borrill et al., section
// 2.2).
#pragma once

#include <cstdint>
#include <functional>

namespace weir::bench {

// Does `operations` floating-point multiply-adds on four independent chains and returns a value
// that depends on all of them. `progress`, if set, is called every `progress_interval` operations,
// for transfers that only advance when they are polled.
//
// The result is finite for any number of operations. The compiler cannot remove or shorten the
// work: its start values are opaque to it and its result is used.
double busy_work(std::int64_t operations, const std::function<void()>& progress);

inline constexpr std::int64_t progress_interval = 1 << 17;  // about 0.1 ms

// Returns the operations of busy work with exponent k on matrices of no_pix rows, for one of
// `ranks` ranks: no_pix^k / ranks, rounded up, or no_pix^(2 alpha) / ranks if the busy-work
// exponent alpha > 0 is given. Saturates at 2^62.
std::int64_t busy_work_operations(std::int64_t no_pix, int exponent, double alpha,
                                  std::int64_t ranks);

}  // namespace weir::bench

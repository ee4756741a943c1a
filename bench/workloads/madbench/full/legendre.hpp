// Sums of Legendre polynomials over the multipoles of one bin, for many angles at once. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace weir::bench::madbench {

// Continues l P_l = (2l-1) x P_{l-1} - (l-1) P_{l-2} from bin to bin.
//
// `cosines` holds x of each angle. `before` and `current` hold P_{first-2} and P_{first-1} of each
// angle, and P_{last-1} and P_last afterwards; before the first bin they are 0 and 1. `sum` becomes
// the sum of weights[l - first] (2l+1)/(4 pi) P_l(x) over l = first … first + weights.size() - 1.
// All spans except `weights` have the same length.
void add_multipoles(std::int64_t first, std::span<const double> weights,
                    std::span<const double> cosines, std::span<double> before,
                    std::span<double> current, std::span<double> sum);

}  // namespace weir::bench::madbench

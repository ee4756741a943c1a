#include "workloads/madbench/full/legendre.hpp"

#include <algorithm>
#include <cstddef>
#include <numbers>

namespace weir::bench::madbench {

void add_multipoles(std::int64_t first, std::span<const double> weights,
                    std::span<const double> cosines, std::span<double> before,
                    std::span<double> current, std::span<double> sum) {
  std::fill(sum.begin(), sum.end(), 0.0);
  const std::size_t count = cosines.size();
  auto multipole = static_cast<double>(first);
  for (const double weight : weights) {
    const double rise = (2 * multipole - 1) / multipole;
    const double fall = (multipole - 1) / multipole;
    const double term = weight * (2 * multipole + 1) / (4 * std::numbers::pi);
    for (std::size_t i = 0; i < count; ++i) {
      const double next = rise * cosines[i] * current[i] - fall * before[i];
      before[i] = current[i];
      current[i] = next;
      sum[i] += term * next;
    }
    ++multipole;
  }
}

}  // namespace weir::bench::madbench

#include "workloads/madbench/full/sky.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "workloads/madbench/full/random48.hpp"

namespace weir::bench::madbench {

std::vector<Direction3> random_sky(std::int64_t pixels) {
  Random48 random(0);
  std::vector<Direction3> sky;
  sky.reserve(static_cast<std::size_t>(pixels));
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    const double ascension = 2 * std::numbers::pi * random.next();
    const double declination = std::numbers::pi * (random.next() - 0.5);
    sky.push_back({std::cos(declination) * std::cos(ascension),
                   std::cos(declination) * std::sin(ascension), std::sin(declination)});
  }
  return sky;
}

double cosine_between(const Direction3& a, const Direction3& b) {
  return std::clamp(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], -1.0, 1.0);
}

}  // namespace weir::bench::madbench

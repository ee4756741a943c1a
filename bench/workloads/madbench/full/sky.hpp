// Directions of the map's pixels on the sky. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weir::bench::madbench {

using Direction3 = std::array<double, 3>;  // a unit vector

// Returns MADbench2's pixels. Each in turn has right ascension 2 pi u and declination pi (u - 1/2),
// with u from drand48() after srand48(0).
[[nodiscard]] std::vector<Direction3> random_sky(std::int64_t pixels);

// Returns the cosine of the angle between two directions, within [-1, 1].
[[nodiscard]] double cosine_between(const Direction3& a, const Direction3& b);

}  // namespace weir::bench::madbench

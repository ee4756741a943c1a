// How long operations take on a device that lets them pass in bursts. Pure.
//
// A limit that is accounted in slices of time (of a tenth of a second, in the kernel's block
// throttling) lets a slice's bytes pass at once and then holds everything up to the next slice.
// From the first start to the last end there is then a part of a slice too much or too little. From
// the start of one burst to the start of a later one there are whole slices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weir::bench::probe {

// The curve of what was done over the time of a trial has so many places.
inline constexpr std::size_t curve_places = 512;
// Without any operation done for so long, the next one begins a burst.
inline constexpr double least_gap_seconds = 0.012;

// The seconds of all operations at the rate between the starts of the first and the last burst.
// `done`: operations of all ranks done in each of equal parts of `seconds`. Nothing where there are
// no two bursts, where gaps are less than half of the time between them, or where less than a
// quarter of the operations lie between them.
[[nodiscard]] std::optional<double> bursts_seconds(std::span<const std::int64_t> done,
                                                   double seconds);

}  // namespace weir::bench::probe

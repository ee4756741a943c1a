// Computes the time of operations on a device that passes them in bursts. Pure.
//
// A limit that is enforced in slices of time (of a tenth of a second in the kernel's block
// throttling) passes a slice's bytes at once and then holds all requests until the next slice. The
// time from the first start to the last end is then wrong by up to a part of a slice. The time from
// the start of one burst to the start of a later one consists of whole slices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weir::bench::probe {

// Number of points of the curve of finished operations over the time of a trial.
inline constexpr std::size_t curve_places = 512;
// After this time without a finished operation, the next one begins a burst.
inline constexpr double least_gap_seconds = 0.012;

// Returns the seconds of all operations at the rate between the starts of the first and the last
// burst. `done` counts the finished operations of all ranks in each of equal parts of `seconds`.
// Returns nothing if there are not two bursts, if gaps take less than half of the time between
// them, or if less than a quarter of the operations lie between them.
[[nodiscard]] std::optional<double> bursts_seconds(std::span<const std::int64_t> done,
                                                   double seconds);

}  // namespace weir::bench::probe

// How a probe shares its seconds out over the cells. Pure.
//
// A round makes one trial of every cell, in an order of its own, so that a slow spell of the
// machine falls on all cells alike. What a trial does was planned before, from what earlier ones
// took.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::bench::probe {

// What is known of a cell before a plan.
struct Cost {
  double seconds_per_operation = 0;  // in the timed part
  double overhead_seconds = 0;       // of a trial besides: lead-in, drops, syncs
  std::int64_t most_operations = 1;
  double weight = 1;
};

// The operations of each cell's trial, at least one each, so that a round takes `round_seconds`
// where that can be: time beyond the overheads is shared by weight, and what a cell cannot use (it
// has done its most) goes to the others.
[[nodiscard]] std::vector<std::int64_t> plan_operations(const std::vector<Cost>& costs,
                                                        double round_seconds);

// How many operations to try next in a pilot, when `operations` took `seconds`, to come to
// `wanted_seconds`: 2 to 8 times as many, at most `most`; the same number when that was enough.
[[nodiscard]] std::int64_t next_pilot(std::int64_t operations, double seconds,
                                      double wanted_seconds, std::int64_t most);

// Bytes that each of `ranks` moves for `seconds` before the timed part, a multiple of `unit`: what
// a device or a link that was idle takes at once must not count as its rate. None where nothing
// would be left of `most_bytes` for an operation of `operation_bytes`.
[[nodiscard]] std::int64_t lead_in_bytes(double seconds, double bytes_per_second_of_rank, int ranks,
                                         std::int64_t unit, std::int64_t operation_bytes,
                                         std::int64_t most_bytes);

inline constexpr int least_rounds = 3;
// Whether another round fits, when `made` of them ended after `elapsed` seconds and the last one
// took `round_seconds`.
[[nodiscard]] bool another_round(int made, double elapsed, double round_seconds, double seconds);

// The order of the cells in a round: a permutation of 0 … cells - 1, the same for equal seeds.
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t cells, std::uint64_t seed);

}  // namespace weir::bench::probe

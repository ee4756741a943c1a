// Divides the seconds of a probe among its cells. Pure.
//
// A round makes one trial of every cell, in a new random order, so that a slow period of the
// machine affects all cells alike. The operations of a trial are planned from the times of earlier
// trials.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::bench::probe {

// Says what is known of a cell before it is planned.
struct Cost {
  double seconds_per_operation = 0;  // in the timed part
  double overhead_seconds = 0;       // rest of a trial: lead-in, drops, syncs
  std::int64_t least_operations = 1;
  std::int64_t most_operations = 1;  // takes precedence over the least
  double weight = 1;
};

// Returns the operations of each cell's trial, at least the cell's least, so that a round takes
// `round_seconds` if possible. The time beyond the overheads is divided by weight; time that a cell
// cannot use, because it has reached its maximum, goes to the other cells.
[[nodiscard]] std::vector<std::int64_t> plan_operations(const std::vector<Cost>& costs,
                                                        double round_seconds);

// Returns how many operations to try next in a pilot, after `operations` took `seconds`, to reach
// `wanted_seconds`: 2 to 8 times as many, at most `most`, or the same number if that was enough.
[[nodiscard]] std::int64_t next_pilot(std::int64_t operations, double seconds,
                                      double wanted_seconds, std::int64_t most);

// Returns the bytes that each of `ranks` moves for `seconds` before the timed part, a multiple of
// `unit`. What an idle device or link absorbs at once must not count as its rate. Returns 0 if
// nothing of `most_bytes` would remain for an operation of `operation_bytes`.
[[nodiscard]] std::int64_t lead_in_bytes(double seconds, double bytes_per_second_of_rank, int ranks,
                                         std::int64_t unit, std::int64_t operation_bytes,
                                         std::int64_t most_bytes);

// Returns the rest of a trial, in seconds, with a lead-in of `bytes`, if it took `seconds` with one
// of `bytes_before`. The rate of the timed part may be far below that of the lead-in, since few
// bytes reach no device's full rate: a shorter lead-in saves at most its share of the rest.
[[nodiscard]] double overhead_with_lead_in(double seconds, std::int64_t bytes_before,
                                           std::int64_t bytes, double bytes_per_second);

inline constexpr int least_rounds = 3;
// Returns whether another round fits, if `made` rounds ended after `elapsed` seconds and the last
// round took `round_seconds`.
[[nodiscard]] bool another_round(int made, double elapsed, double round_seconds, double seconds);

// Returns the order of the cells in a round: a permutation of 0 … cells - 1, the same for equal
// seeds.
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t cells, std::uint64_t seed);

}  // namespace weir::bench::probe

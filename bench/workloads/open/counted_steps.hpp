// The result of the counted pass: how many metadata operations each step sent to the file system,
// on how many ranks, and an extrapolation to more ranks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adapters/calls/operation.hpp"

namespace weir::bench::opening {

// One step by a number of ranks. Metadata operations are all except reads and writes.
struct CountedStep {
  std::int64_t ranks = 0;
  std::int64_t operations = 0;  // of all ranks, on the job's files and their folder
  std::int64_t first_rank = 0;  // the part of the first rank
  std::int64_t most = 0;        // of the rank with the most
  std::int64_t transfers = 0;   // reads and writes
  std::int64_t elsewhere = 0;   // operations on other files, such as those of the MPI library
  std::array<std::int64_t, calls::operations> by_call{};  // of all ranks, on the job's files
};

// The fit operations ≈ fixed + per_rank × ranks, by least squares.
struct Line {
  double fixed = 0;
  double per_rank = 0;
  double largest_deviation = 0;  // the largest distance of a point from the line, in operations
  [[nodiscard]] double at(double ranks) const { return fixed + per_rank * ranks; }
};

// Fits the points of at least two ranks if there are two such points, because one rank alone is a
// special case for most libraries. Needs at least one point; the line through a single point is
// level.
[[nodiscard]] Line fit_line(std::span<const CountedStep> points);

// Returns whether the points show how the operations grow: at least two counts with two or more
// ranks.
[[nodiscard]] bool has_slope(std::span<const CountedStep> points);

// Returns a text such as "2 + 9 n", "7" or "9 n".
[[nodiscard]] std::string growth(const Line& line);

// Returns the operations of the step on `ranks` ranks by the line, at least 0.
[[nodiscard]] double operations_on(const Line& line, double ranks);

// Counts by nodes: `one` is the count of one node, `two` that of two nodes with as many ranks each.
struct NodeCounts {
  CountedStep one;
  CountedStep two;
  [[nodiscard]] double per_node() const {
    return static_cast<double>(two.operations - one.operations);
  }
};
[[nodiscard]] double operations_on(const NodeCounts& counts, double ranks);

// Returns 1, 2, 4 and so on, then `ranks`.
[[nodiscard]] std::vector<std::int64_t> counted_ranks(std::int64_t ranks);

inline constexpr std::array<std::int64_t, 3> expected_ranks = {1'000, 100'000, 1'000'000};

}  // namespace weir::bench::opening

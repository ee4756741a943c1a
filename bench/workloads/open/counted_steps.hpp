// What the counted pass found: how many metadata operations each step asked the file system for, on
// how many ranks, and what that comes to on more.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adapters/calls/operation.hpp"

namespace weir::bench::opening {

// One step by so many ranks; metadata operations are all but reads and writes.
struct CountedStep {
  std::int64_t ranks = 0;
  std::int64_t operations = 0;  // of all ranks, on the job's files and their folder
  std::int64_t first_rank = 0;  // of them, by the first
  std::int64_t most = 0;        // by the rank with the most
  std::int64_t transfers = 0;   // reads and writes
  std::int64_t elsewhere = 0;   // operations on other files, such as those of the MPI library
  std::array<std::int64_t, calls::operations> by_call{};  // of all ranks, on the job's files
};

// operations ≈ fixed + per_rank × ranks, by least squares.
struct Line {
  double fixed = 0;
  double per_rank = 0;
  double largest_deviation = 0;  // of a point from the line, in operations
  [[nodiscard]] double at(double ranks) const { return fixed + per_rank * ranks; }
};

// Through the points of at least two ranks where there are two such: one rank alone is a case of
// its own for most libraries. At least one point; through one alone the line is level.
[[nodiscard]] Line fit_line(std::span<const CountedStep> points);

// Whether these tell how the operations grow: two counts of two ranks and more, at least.
[[nodiscard]] bool has_slope(std::span<const CountedStep> points);

// "2 + 9 n", "7", "9 n".
[[nodiscard]] std::string growth(const Line& line);

// What the step comes to on `ranks` ranks, by the line; at least 0.
[[nodiscard]] double operations_on(const Line& line, double ranks);

// Counts by nodes: `one` node was counted, and `two` nodes of as many ranks each.
struct NodeCounts {
  CountedStep one;
  CountedStep two;
  [[nodiscard]] double per_node() const {
    return static_cast<double>(two.operations - one.operations);
  }
};
[[nodiscard]] double operations_on(const NodeCounts& counts, double ranks);

// 1, 2, 4 and so on, then `ranks`.
[[nodiscard]] std::vector<std::int64_t> counted_ranks(std::int64_t ranks);

inline constexpr std::array<std::int64_t, 3> expected_ranks = {1'000, 100'000, 1'000'000};

}  // namespace weir::bench::opening

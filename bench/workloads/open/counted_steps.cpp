#include "workloads/open/counted_steps.hpp"

#include <algorithm>
#include <cmath>

namespace weir::bench::opening {

Line fit_line(std::span<const CountedStep> points) {
  const auto beyond_one = std::count_if(points.begin(), points.end(),
                                        [](const CountedStep& one) { return one.ranks > 1; });
  const auto used = [&](const CountedStep& one) { return beyond_one < 2 || one.ranks > 1; };
  double count = 0;
  double mean_ranks = 0;
  double mean_operations = 0;
  for (const CountedStep& one : points) {
    if (!used(one)) continue;
    count += 1;
    mean_ranks += static_cast<double>(one.ranks);
    mean_operations += static_cast<double>(one.operations);
  }
  mean_ranks /= count;
  mean_operations /= count;
  double together = 0;
  double spread = 0;
  for (const CountedStep& one : points) {
    if (!used(one)) continue;
    const double ranks = static_cast<double>(one.ranks) - mean_ranks;
    together += ranks * (static_cast<double>(one.operations) - mean_operations);
    spread += ranks * ranks;
  }
  Line line;
  line.per_rank = spread > 0 ? together / spread : 0;
  line.fixed = mean_operations - line.per_rank * mean_ranks;
  for (const CountedStep& one : points) {
    if (!used(one)) continue;
    const double deviation =
        std::abs(static_cast<double>(one.operations) - line.at(static_cast<double>(one.ranks)));
    line.largest_deviation = std::max(line.largest_deviation, deviation);
  }
  return line;
}

double operations_on(const Line& line, double ranks) { return std::max(0.0, line.at(ranks)); }

double operations_on(const NodeCounts& counts, double ranks) {
  const double nodes = std::ceil(ranks / static_cast<double>(counts.one.ranks));
  return std::max(0.0, static_cast<double>(counts.one.operations) +
                           (std::max(1.0, nodes) - 1) * counts.per_node());
}

std::vector<std::int64_t> counted_ranks(std::int64_t ranks) {
  std::vector<std::int64_t> counts;
  for (std::int64_t some = 1; some < ranks; some *= 2) counts.push_back(some);
  counts.push_back(ranks);
  return counts;
}

}  // namespace weir::bench::opening

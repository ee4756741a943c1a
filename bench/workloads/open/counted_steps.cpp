#include "workloads/open/counted_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::bench::opening {

Line fit_line(std::span<const CountedStep> points) {
  const auto beyond_one = std::count_if(points.begin(), points.end(),
                                        [](const CountedStep& one) { return one.ranks > 1; });
  const auto used = [&](const CountedStep& one) { return beyond_one < 2 || one.ranks > 1; };
  // The sums are of whole numbers, which doubles hold exactly, so rounding cannot turn a constant
  // into a slope.
  double count = 0;
  double ranks = 0;
  double operations = 0;
  double squares = 0;
  double products = 0;
  for (const CountedStep& one : points) {
    if (!used(one)) continue;
    const auto x = static_cast<double>(one.ranks);
    const auto y = static_cast<double>(one.operations);
    count += 1;
    ranks += x;
    operations += y;
    squares += x * x;
    products += x * y;
  }
  const double spread = count * squares - ranks * ranks;
  Line line;
  line.per_rank = spread > 0 ? (count * products - ranks * operations) / spread : 0;
  line.fixed = spread > 0 ? (operations * squares - ranks * products) / spread : operations / count;
  for (const CountedStep& one : points) {
    if (!used(one)) continue;
    const double deviation =
        std::abs(static_cast<double>(one.operations) - line.at(static_cast<double>(one.ranks)));
    line.largest_deviation = std::max(line.largest_deviation, deviation);
  }
  return line;
}

bool has_slope(std::span<const CountedStep> points) {
  return std::count_if(points.begin(), points.end(),
                       [](const CountedStep& one) { return one.ranks > 1; }) >= 2;
}

std::string growth(const Line& line) {
  constexpr double visible = 5e-4;
  const auto number = [](double value) {
    const bool whole = std::abs(value - std::round(value)) < visible;
    return whole ? fmt::format("{:.0f}", std::round(value)) : fmt::format("{:.2f}", value);
  };
  if (std::abs(line.per_rank) < visible) return number(line.fixed);
  std::string slope = number(line.per_rank) + " n";
  if (std::abs(line.fixed) < visible) return slope;
  if (line.fixed < 0) return fmt::format("{} - {}", slope, number(-line.fixed));
  return fmt::format("{} + {}", number(line.fixed), slope);
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

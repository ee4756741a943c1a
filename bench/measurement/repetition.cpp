#include "measurement/repetition.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace weir::bench {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> ordered(values.begin(), values.end());
  std::ranges::sort(ordered);
  return ordered;
}

// Returns the quantile at `fraction` by linear interpolation between order statistics (definition 7
// of Hyndman and Fan, "Sample quantiles in statistical packages", 1996; NumPy's default).
double quantile(std::span<const double> ordered, double fraction) {
  const double place = fraction * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, ordered.size() - 1);
  const double share = place - static_cast<double>(below);
  return ordered[below] + share * (ordered[above] - ordered[below]);
}

}  // namespace

// The number of values below the true median is binomial with p = 1/2, so the order statistics
// [x_(k+1), x_(n-k)] cover it with probability 1 - 2 P(B <= k) (Conover, "Practical Nonparametric
// Statistics", section 3.2). Larger k: narrower interval, less coverage.
MedianInterval median_interval(std::span<const double> values, double confidence) {
  if (values.empty()) return {};
  const std::vector<double> ordered = sorted(values);
  const std::size_t n = ordered.size();

  std::size_t chosen = 0;
  double coverage = 0;
  double tail = 0;                                                   // P(B <= k)
  double log_probability = -static_cast<double>(n) * std::log(2.0);  // log P(B = k)
  for (std::size_t k = 0; k < (n + 1) / 2; ++k) {
    if (k > 0) {
      log_probability += std::log(static_cast<double>(n - k + 1) / static_cast<double>(k));
    }
    tail += std::exp(log_probability);
    if (k > 0 && 1 - 2 * tail < confidence) break;
    chosen = k;
    coverage = std::max(0.0, 1 - 2 * tail);
  }
  return {.median = quantile(ordered, 0.5),
          .low = ordered[chosen],
          .high = ordered[n - 1 - chosen],
          .confidence = coverage};
}

std::vector<bool> outliers(std::span<const double> values) {
  std::vector<bool> marks(values.size(), false);
  if (values.size() < 4) return marks;
  const std::vector<double> ordered = sorted(values);
  const double lower = quantile(ordered, 0.25);
  const double upper = quantile(ordered, 0.75);
  const double reach = 1.5 * (upper - lower);
  for (std::size_t i = 0; i < values.size(); ++i) {
    marks[i] = values[i] < lower - reach || values[i] > upper + reach;
  }
  return marks;
}

bool converged(const RepetitionPolicy& policy, std::span<const double> values) {
  if (values.empty() || values.size() < static_cast<std::size_t>(std::max(policy.minimum, 1))) {
    return false;
  }
  const MedianInterval interval = median_interval(values, policy.confidence);
  const double allowed = policy.half_width * std::abs(interval.median);
  return interval.confidence >= policy.confidence && interval.high - interval.median <= allowed &&
         interval.median - interval.low <= allowed;
}

}  // namespace weir::bench

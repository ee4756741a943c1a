// Decides when there are enough repetitions, by a distribution-free confidence interval of the
// median.
#pragma once

#include <span>
#include <vector>

namespace weir::bench {

struct MedianInterval {
  double median = 0;
  double low = 0;  // an order statistic below the median, as `high` is one above it
  double high = 0;
  double confidence = 0;  // coverage of [low, high], 0 to 1
};

// Returns the narrowest pair of order statistics, symmetric about the median, that covers the true
// median with at least `confidence` (binomial with p = 1/2). If n is too small for that (n < 6 at
// 95 %), returns the whole range with its actual coverage, 1 - 2^(1-n). Needs at least one value.
[[nodiscard]] MedianInterval median_interval(std::span<const double> values,
                                             double confidence = 0.95);

// Marks the values beyond 1.5 interquartile ranges from the quartiles (Tukey). They are shown,
// never dropped. Fewer than 4 values have no outliers.
[[nodiscard]] std::vector<bool> outliers(std::span<const double> values);

struct RepetitionPolicy {
  int warmups = 1;
  int minimum = 3;
  int maximum = 20;
  double half_width = 0.05;  // relative to the median
  double confidence = 0.95;
};

// Returns whether the interval has the required coverage and lies within ± half_width of the
// median.
[[nodiscard]] bool converged(const RepetitionPolicy& policy, std::span<const double> values);

}  // namespace weir::bench

// When enough repetitions are enough: the median's confidence interval, free of any distribution.
#pragma once

#include <span>
#include <vector>

namespace weir::bench {

struct MedianInterval {
  double median = 0;
  double low = 0;  // order statistics around the median
  double high = 0;
  double confidence = 0;  // coverage of [low, high], 0 to 1
};

// The narrowest pair of order statistics, symmetric about the median, that covers the true median
// with at least `confidence` (binomial with p = 1/2); where n is too small for it (n < 6 at 95 %)
// the whole range, with the coverage it has: 1 - 2^(1-n). Needs at least one value.
[[nodiscard]] MedianInterval median_interval(std::span<const double> values,
                                             double confidence = 0.95);

// Marks the values beyond 1.5 interquartile ranges from the quartiles (Tukey). They are shown,
// never dropped. Fewer than 4 values have no outliers.
[[nodiscard]] std::vector<bool> outliers(std::span<const double> values);

struct RepetitionPolicy {
  int warmups = 1;
  int minimum = 3;
  int maximum = 20;
  double half_width = 0.05;  // of the median
  double confidence = 0.95;
};

// Whether the interval has the asked coverage and lies within ± half_width of the median.
[[nodiscard]] bool converged(const RepetitionPolicy& policy, std::span<const double> values);

}  // namespace weir::bench

// Iterates over all index tuples below given counts; the last dimension varies fastest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "array/per_dimension.hpp"

namespace weir::array {

template <int capacity = max_dimensions>
class Odometer {
 public:
  using Counts = PerDimension<std::int64_t, capacity>;

  Odometer() = default;  // no tuple
  explicit Odometer(const Counts& counts)
      : counts_(counts),
        digits_(counts.size()),
        done_(std::any_of(counts.begin(), counts.end(), [](std::int64_t n) { return n <= 0; })) {}

  // Returns whether digits() is a tuple: false after the last tuple, and from the start if a count
  // is 0.
  [[nodiscard]] bool valid() const { return !done_; }
  [[nodiscard]] const Counts& digits() const { return digits_; }

  // Goes to the next tuple. Returns the slowest dimension whose digit changed, or -1 after the last
  // tuple.
  int advance() {
    for (int d = counts_.size() - 1; d >= 0; --d) {
      if (++digits_[d] < counts_[d]) return d;
      digits_[d] = 0;
    }
    done_ = true;
    return -1;
  }

 private:
  Counts counts_;
  Counts digits_;
  bool done_ = true;
};

}  // namespace weir::array

// A box of an index space: a lower corner and extents. A box is empty when an extent is 0.
#pragma once

#include <algorithm>
#include <cstdint>

#include "array/per_dimension.hpp"

namespace weir::array {

struct Box {
  Indices lower;
  Indices extent;  // each >= 0

  [[nodiscard]] int dimensions() const { return lower.size(); }
  // Returns one more than the last index along `dimension`.
  [[nodiscard]] std::int64_t upper(int dimension) const {
    return lower[dimension] + extent[dimension];
  }
  [[nodiscard]] bool empty() const {
    return std::any_of(extent.begin(), extent.end(), [](std::int64_t n) { return n <= 0; });
  }
  // The result cannot overflow for a box inside a Shape.
  [[nodiscard]] std::int64_t elements() const {
    if (empty()) return 0;
    std::int64_t product = 1;
    for (const std::int64_t n : extent) product *= n;
    return product;
  }
  [[nodiscard]] bool contains(const Indices& index) const {
    for (int d = 0; d < dimensions(); ++d) {
      if (index[d] < lower[d] || index[d] >= upper(d)) return false;
    }
    return true;
  }
  // Every box contains an empty box.
  [[nodiscard]] bool contains(const Box& other) const {
    if (other.empty()) return true;
    for (int d = 0; d < dimensions(); ++d) {
      if (other.lower[d] < lower[d] || other.upper(d) > upper(d)) return false;
    }
    return true;
  }

  friend bool operator==(const Box&, const Box&) = default;
};

// Returns the common elements of two boxes of the same number of dimensions.
[[nodiscard]] inline Box intersect(const Box& a, const Box& b) {
  Box both{Indices(a.dimensions()), Indices(a.dimensions())};
  for (int d = 0; d < a.dimensions(); ++d) {
    both.lower[d] = std::max(a.lower[d], b.lower[d]);
    both.extent[d] = std::max<std::int64_t>(0, std::min(a.upper(d), b.upper(d)) - both.lower[d]);
  }
  return both;
}

// Returns whether two boxes have an element in common; an empty box meets no box.
[[nodiscard]] inline bool meet(const Box& a, const Box& b) {
  for (int d = 0; d < a.dimensions(); ++d) {
    if (std::min(a.upper(d), b.upper(d)) <= std::max(a.lower[d], b.lower[d])) return false;
  }
  return true;
}

}  // namespace weir::array

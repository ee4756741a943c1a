// Ranks arranged as a grid, like HPF's PROCESSORS and ScaLAPACK's BLACS grid.
#pragma once

#include <cstdint>

#include "array/per_dimension.hpp"

namespace weir::array {

// The grid has `extents[d]` ranks along dimension d of the array, and 1 along a dimension that is
// not distributed. Rank numbers vary fastest along the last dimension (row-major: MPI_Cart, BLACS
// 'R') or along the first dimension (column-major: HPF, BLACS 'C').
struct ProcessGrid {
  Indices extents;
  Order order = Order::row_major;

  [[nodiscard]] std::int64_t ranks() const {
    std::int64_t product = 1;
    for (const std::int64_t n : extents) product *= n;
    return product;
  }
  // 0 <= rank < ranks().
  [[nodiscard]] Indices coordinates(std::int64_t rank) const {
    Indices place(extents.size());
    for (int depth = extents.size() - 1; depth >= 0; --depth) {
      const int d = dimension_at_depth(order, extents.size(), depth);
      place[d] = rank % extents[d];
      rank /= extents[d];
    }
    return place;
  }
  [[nodiscard]] std::int64_t rank(const Indices& coordinates) const {
    std::int64_t number = 0;
    for (int depth = 0; depth < extents.size(); ++depth) {
      const int d = dimension_at_depth(order, extents.size(), depth);
      number = number * extents[d] + coordinates[d];
    }
    return number;
  }

  friend bool operator==(const ProcessGrid&, const ProcessGrid&) = default;
};

}  // namespace weir::array

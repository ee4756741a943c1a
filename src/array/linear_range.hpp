// A contiguous range of the elements of a dense array as boxes: how a file domain, which is a range
// of bytes, meets boxes and distributions.
#pragma once

#include <cstdint>

#include "array/box.hpp"
#include "array/per_dimension.hpp"
#include "array/shape.hpp"

namespace weir::array {

// The boxes of the elements numbered first <= number < last in `order`, in that order: at most
// 2 × dimensions − 1 of them, however long the range.
class RangeBoxes {
 public:
  // 0 <= first, last <= shape.elements().
  RangeBoxes(const Shape& shape, Order order, std::int64_t first, std::int64_t last);
  // False when there is none left.
  bool next(Box& box);

 private:
  Indices extents_;
  Order order_;
  std::int64_t next_;
  std::int64_t last_;
};

// The number of an element in `order`, and back.
[[nodiscard]] std::int64_t linear_number(const Shape& shape, Order order, const Indices& index);
[[nodiscard]] Indices index_of_number(const Shape& shape, Order order, std::int64_t number);

}  // namespace weir::array

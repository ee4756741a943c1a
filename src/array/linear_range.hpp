// A contiguous range of the elements of a dense array as boxes. It relates a file domain, which is
// a range of bytes, to boxes and distributions.
#pragma once

#include <cstdint>
#include <optional>

#include "array/box.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"
#include "array/shape.hpp"

namespace weir::array {

// Iterates over the boxes of the elements numbered first <= number < last in `order`, in that
// order. There are at most 2 × dimensions − 1 boxes, however long the range is.
class RangeBoxes {
 public:
  // 0 <= first, last <= shape.elements().
  RangeBoxes(const Shape& shape, Order order, std::int64_t first, std::int64_t last);
  // Returns false when no box is left.
  bool next(Box& box);

 private:
  Indices extents_;
  Order order_;
  std::int64_t next_;
  std::int64_t last_;
};

// Return the number of an element in `order`, and the index of the element with a given number.
[[nodiscard]] std::int64_t linear_number(const Shape& shape, Order order, const Indices& index);
[[nodiscard]] Indices index_of_number(const Shape& shape, Order order, std::int64_t number);

// Returns the least number >= `from` of an element of `region`, or nothing if there is none. The
// closed form lets a rank step from one piece of the file in which it has a share to the next
// without visiting the pieces between. 0 <= from <= shape.elements(); `region` lies inside the
// array.
[[nodiscard]] std::optional<std::int64_t> next_number(const Region& region, const Shape& shape,
                                                      Order order, std::int64_t from);

}  // namespace weir::array

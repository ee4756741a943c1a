// A contiguous range of the elements of a dense array as boxes: how a file domain, which is a range
// of bytes, meets boxes and distributions.
#pragma once

#include <cstdint>
#include <optional>

#include "array/box.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"
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

// The least number >= `from` of an element of `region`; nothing when there is none. In closed form:
// so a rank steps from one piece of the file that it has a share of to the next, without looking at
// those between. 0 <= from <= shape.elements(); `region` lies inside the array.
[[nodiscard]] std::optional<std::int64_t> next_number(const Region& region, const Shape& shape,
                                                      Order order, std::int64_t from);

}  // namespace weir::array

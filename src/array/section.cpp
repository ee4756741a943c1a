#include "array/section.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "array/common_blocks.hpp"
#include "array/index_blocks.hpp"

namespace weir::array {

Result<Section> Section::create(const Shape& shape, std::span<const std::int64_t> start,
                                std::span<const std::int64_t> count,
                                std::span<const std::int64_t> stride) {
  const auto dimensions = static_cast<std::size_t>(shape.dimensions());
  if (start.size() != dimensions || count.size() != dimensions || stride.size() != dimensions) {
    return invalid_argument(fmt::format(
        "a section has {} starts, {} counts and {} strides, but the array has {} dimensions",
        start.size(), count.size(), stride.size(), dimensions));
  }
  for (int d = 0; d < shape.dimensions(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t extent = shape.extent(d);
    const auto refuse = [&](const char* why) {
      return invalid_argument(
          fmt::format("a section from {} with count {} and stride {} along dimension {} of {}: {}",
                      start[at], count[at], stride[at], d, extent, why));
    };
    if (count[at] < 0) return refuse("give a count of at least 0");
    if (stride[at] < 1) return refuse("give a stride of at least 1");
    if (start[at] < 0 || start[at] > extent) return refuse("it starts outside the array");
    // Inside the array, (extent − 1 − start) / stride elements follow the first element.
    if (count[at] > 0 &&
        (start[at] == extent || count[at] - 1 > (extent - 1 - start[at]) / stride[at])) {
      return refuse("it ends outside the array");
    }
  }
  return Section{Indices(start), Indices(count), Indices(stride)};
}

Box Section::bounding_box() const {
  Box box{start, Indices(dimensions())};
  for (int d = 0; d < dimensions(); ++d) {
    if (count[d] > 0) box.extent[d] = (count[d] - 1) * stride[d] + 1;
  }
  return box;
}

Section intersect(const Section& a, const Section& b) {
  Section both{Indices(a.dimensions()), Indices(a.dimensions()), Indices(a.dimensions(), 1)};
  for (int d = 0; d < a.dimensions(); ++d) {
    CommonBlocks sets(IndexBlocks::strided(a.start[d], a.count[d], a.stride[d]),
                      IndexBlocks::strided(b.start[d], b.count[d], b.stride[d]));
    IndexBlocks common;
    if (!sets.next(common)) continue;  // start and count stay 0
    both.start[d] = common.lower();
    both.count[d] = common.size();
    if (!common.is_interval()) both.stride[d] = common.stride();
  }
  return both;
}

}  // namespace weir::array

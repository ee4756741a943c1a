#include "array/linear_range.hpp"

#include <algorithm>

namespace weir::array {

RangeBoxes::RangeBoxes(const Shape& shape, Order order, std::int64_t first, std::int64_t last)
    : extents_(shape.extents()), order_(order), next_(first), last_(last) {}

bool RangeBoxes::next(Box& box) {
  if (next_ >= last_) return false;
  // Finds the widest slab that starts at next_ and ends in the range. It has all indices of the
  // dimensions inside `depth`, some indices of the dimension at `depth`, and one index of the
  // dimensions outside. The search goes from the innermost dimension outwards while whole slabs
  // fit.
  const int dimensions = extents_.size();
  box = {Indices(dimensions), Indices(dimensions, 1)};
  std::int64_t number = next_;
  std::int64_t slab = 1;  // elements of one index of the dimension at depth
  bool grows = true;
  std::int64_t taken = 1;
  for (int depth = dimensions - 1; depth >= 0; --depth) {
    const int d = dimension_at_depth(order_, dimensions, depth);
    const std::int64_t extent = extents_[d];
    const std::int64_t place = number % extent;
    number /= extent;
    box.lower[d] = place;
    if (!grows) continue;
    const std::int64_t fitting = std::min(extent - place, (last_ - next_) / slab);
    box.extent[d] = fitting;
    taken = fitting * slab;
    // The next dimension outwards can have more than one index only if this one is complete.
    grows = place == 0 && fitting == extent && last_ - next_ > taken;
    slab *= extent;
  }
  next_ += taken;
  return true;
}

std::int64_t linear_number(const Shape& shape, Order order, const Indices& index) {
  std::int64_t number = 0;
  for (int depth = 0; depth < shape.dimensions(); ++depth) {
    const int d = dimension_at_depth(order, shape.dimensions(), depth);
    number = number * shape.extent(d) + index[d];
  }
  return number;
}

Indices index_of_number(const Shape& shape, Order order, std::int64_t number) {
  Indices index(shape.dimensions());
  for (int depth = shape.dimensions() - 1; depth >= 0; --depth) {
    const int d = dimension_at_depth(order, shape.dimensions(), depth);
    index[d] = number % shape.extent(d);
    number /= shape.extent(d);
  }
  return index;
}

std::optional<std::int64_t> next_number(const Region& region, const Shape& shape, Order order,
                                        std::int64_t from) {
  if (region.empty() || from >= shape.elements()) return std::nullopt;
  const int dimensions = shape.dimensions();
  const auto dimension = [&](int depth) { return dimension_at_depth(order, dimensions, depth); };
  Indices index = index_of_number(shape, order, from);
  // Keeps the leading (slowest) indices while they belong to the region. At the first dimension
  // whose index does not, takes the region's next index; inside it, takes the region's first
  // indices.
  int depth = 0;
  while (depth < dimensions && region.along(dimension(depth)).contains(index[dimension(depth)])) {
    ++depth;
  }
  if (depth == dimensions) return from;
  // The index at `depth` is not in the region, so its position is that of the region's next index.
  std::int64_t position = region.along(dimension(depth)).position(index[dimension(depth)]);
  while (position >= region.along(dimension(depth)).size()) {
    if (--depth < 0) return std::nullopt;
    position = region.along(dimension(depth)).position(index[dimension(depth)]) + 1;
  }
  index[dimension(depth)] = region.along(dimension(depth)).at(position);
  for (int inside = depth + 1; inside < dimensions; ++inside) {
    index[dimension(inside)] = region.along(dimension(inside)).lower();
  }
  return linear_number(shape, order, index);
}

}  // namespace weir::array

#include "array/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "common/checked.hpp"

namespace weir::array {

Result<Shape> Shape::create(std::span<const std::int64_t> extents) {
  if (extents.empty() || extents.size() > max_dimensions) {
    return invalid_argument(
        fmt::format("an array has {} dimensions: give 1 to {}", extents.size(), max_dimensions));
  }
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] < 0) {
      return invalid_argument(
          fmt::format("extent {} of dimension {} is negative: give 0 or more", extents[d], d));
    }
    const auto product = checked_multiply(elements, std::max<std::int64_t>(1, extents[d]));
    if (!product || *product > max_elements) {
      return invalid_argument(fmt::format("an array has {} elements: give at most 2^62",
                                          extents_text(Indices(extents))));
    }
    elements = *product;
  }
  return Shape(Indices(extents));
}

std::int64_t Shape::elements() const { return box().elements(); }

Result<std::int64_t> Shape::bytes(const ElementType& type) const {
  if (const auto product = checked_multiply(elements(), type.bytes())) return *product;
  return invalid_argument(fmt::format(
      "an array of {} elements of {} bytes has more than 2^63 bytes: give a smaller shape", text(),
      type.bytes()));
}

std::string Shape::text() const { return extents_text(extents_); }

std::string extents_text(const Indices& extents) {
  return fmt::format("{}", fmt::join(extents, " x "));
}

Status check_inside(const Box& box, const Shape& shape) {
  if (box.lower.size() != shape.dimensions() || box.extent.size() != shape.dimensions()) {
    return invalid_argument(fmt::format("a box has {} dimensions, but the array has {}",
                                        box.lower.size(), shape.dimensions()));
  }
  for (int d = 0; d < shape.dimensions(); ++d) {
    const std::int64_t lower = box.lower[d];
    const std::int64_t extent = box.extent[d];
    const std::int64_t limit = shape.extent(d);
    // The order of these comparisons avoids overflow.
    if (lower < 0 || lower > limit || extent < 0 || extent > limit - lower) {
      return invalid_argument(
          fmt::format("a box from {} with extent {} along dimension {} is outside the array, which "
                      "has indices 0 to {} there",
                      lower, extent, d, limit));
    }
  }
  return {};
}

}  // namespace weir::array

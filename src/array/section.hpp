// A section of an array: a box with strides, like NumPy's a[start:stop:stride, …].
#pragma once

#include <cstdint>
#include <span>

#include "array/box.hpp"
#include "array/per_dimension.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::array {

// A section has the elements start[d] + k × stride[d], 0 <= k < count[d], along each dimension d.
// It is empty if a count is 0.
struct Section {
  Indices start;
  Indices count;   // each >= 0
  Indices stride;  // each >= 1

  // Fails if the numbers of dimensions differ, a count or stride is out of range, or an element
  // lies outside the array. An empty section may start anywhere between 0 and the extents.
  static Result<Section> create(const Shape& shape, std::span<const std::int64_t> start,
                                std::span<const std::int64_t> count,
                                std::span<const std::int64_t> stride);
  static Section of(const Box& box) {
    return {box.lower, box.extent, Indices(box.dimensions(), 1)};
  }

  [[nodiscard]] int dimensions() const { return start.size(); }
  [[nodiscard]] bool empty() const { return Box{start, count}.empty(); }
  [[nodiscard]] std::int64_t elements() const { return Box{start, count}.elements(); }
  // Returns the smallest box around the section.
  [[nodiscard]] Box bounding_box() const;

  friend bool operator==(const Section&, const Section&) = default;
};

// Return the common elements of two sections, or of a section and a box. These are always a
// section.
[[nodiscard]] Section intersect(const Section& a, const Section& b);
[[nodiscard]] inline Section intersect(const Section& a, const Box& b) {
  return intersect(a, Section::of(b));
}

}  // namespace weir::array

// The extents of a global array, which are checked once so that later arithmetic on indices cannot
// overflow.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "array/box.hpp"
#include "array/element_type.hpp"
#include "array/per_dimension.hpp"
#include "common/status.hpp"

namespace weir::array {

// The maximum number of elements of an array. With at most 2^62 elements, the sum of two indices
// and the product of the extents of any box fit into 63 bits.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 62;

class Shape {
 public:
  // `extents` are in elements, with the dimension that is slowest in row-major order first; an
  // extent may be 0. Fails on 0 or more than 16 dimensions, on a negative extent, and on more than
  // 2^62 elements, where an extent of 0 counts as 1.
  static Result<Shape> create(std::span<const std::int64_t> extents);
  static Result<Shape> create(std::initializer_list<std::int64_t> extents) {
    return create(std::span<const std::int64_t>(extents.begin(), extents.size()));
  }
  static Result<Shape> create(const Indices& extents) {
    return create(std::span<const std::int64_t>(extents.begin(), extents.end()));
  }

  [[nodiscard]] int dimensions() const { return extents_.size(); }
  [[nodiscard]] std::int64_t extent(int dimension) const { return extents_[dimension]; }
  [[nodiscard]] const Indices& extents() const { return extents_; }
  [[nodiscard]] std::int64_t elements() const;
  // Returns the number of bytes of the array. Fails if it does not fit into 63 bits.
  [[nodiscard]] Result<std::int64_t> bytes(const ElementType& type) const;
  // Returns the box of all elements.
  [[nodiscard]] Box box() const { return {Indices(dimensions()), extents_}; }
  // Returns the extents as text, such as "10 x 20 x 30".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  explicit Shape(const Indices& extents) : extents_(extents) {}

  Indices extents_;
};

// Fails if `box` is not inside the array, has a different number of dimensions, or has a negative
// extent. An empty box may lie anywhere between 0 and the extents.
[[nodiscard]] Status check_inside(const Box& box, const Shape& shape);

// Returns extents as text, such as "10 x 20 x 30".
[[nodiscard]] std::string extents_text(const Indices& extents);

}  // namespace weir::array

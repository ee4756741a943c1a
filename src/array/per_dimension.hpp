// A vector of one value per dimension without heap allocation, so that boxes and regions are cheap
// to copy.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace weir::array {

// Arrays have 1 to max_dimensions dimensions.
inline constexpr int max_dimensions = 16;

// A vector of at most `capacity` values. Dimension 0 is the slowest in row-major order.
template <typename T, int capacity = max_dimensions>
class PerDimension {
 public:
  constexpr PerDimension() = default;
  constexpr explicit PerDimension(int size, const T& value = T{}) : size_(size) {
    assert(0 <= size && size <= capacity);
    // A loop over iterators would make gcc 14 warn that end() might lie before begin().
    for (int d = 0; d < size; ++d) values_[static_cast<std::size_t>(d)] = value;
  }
  constexpr PerDimension(std::initializer_list<T> values)
      : PerDimension(std::span<const T>(values.begin(), values.size())) {}
  // `values` has at most `capacity` values: Shape::create rejects more dimensions beforehand.
  constexpr explicit PerDimension(std::span<const T> values) {
    for (const T& value : values) push_back(value);
  }

  [[nodiscard]] constexpr int size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](int dimension) {
    assert(0 <= dimension && dimension < size_);
    return values_[static_cast<std::size_t>(dimension)];
  }
  constexpr const T& operator[](int dimension) const {
    assert(0 <= dimension && dimension < size_);
    return values_[static_cast<std::size_t>(dimension)];
  }
  constexpr T& back() { return (*this)[size_ - 1]; }
  [[nodiscard]] constexpr const T& back() const { return (*this)[size_ - 1]; }
  constexpr void push_back(const T& value) {
    assert(size_ < capacity);
    values_[static_cast<std::size_t>(size_++)] = value;
  }
  constexpr void pop_back() {
    assert(size_ > 0);
    --size_;
  }

  constexpr T* begin() { return values_.data(); }
  constexpr T* end() { return values_.data() + size_; }
  [[nodiscard]] constexpr const T* begin() const { return values_.data(); }
  [[nodiscard]] constexpr const T* end() const { return values_.data() + size_; }

  friend constexpr bool operator==(const PerDimension& a, const PerDimension& b) {
    if (a.size_ != b.size_) return false;
    for (int d = 0; d < a.size_; ++d) {
      if (!(a[d] == b[d])) return false;
    }
    return true;
  }

 private:
  std::array<T, static_cast<std::size_t>(capacity)> values_{};
  int size_ = 0;
};

// One number per dimension: an element's index, or extents, counts or strides.
using Indices = PerDimension<std::int64_t>;

// The dimension that varies fastest is the last one in row-major order (C, NumPy) and the first one
// in column-major order (Fortran, ScaLAPACK).
enum class Order { row_major, column_major };

// Returns the dimension at `depth`, where depth 0 is the slowest dimension.
[[nodiscard]] constexpr int dimension_at_depth(Order order, int dimensions, int depth) {
  return order == Order::row_major ? depth : dimensions - 1 - depth;
}

}  // namespace weir::array

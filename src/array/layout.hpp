// Where the elements of a dense array lie, in memory or in a file: one offset and one stride per
// dimension, in bytes.
#pragma once

#include <cstdint>
#include <span>

#include "array/box.hpp"
#include "array/per_dimension.hpp"
#include "common/status.hpp"

namespace weir::array {

// Ghost cells: elements that surround a rank's part in its memory and are not written.
struct GhostCells {
  Indices lower;  // before the first index, per dimension
  Indices upper;  // after the last one
};

// The element at `index` lies `offset` + Σ stride[d] × index[d] bytes from the start of the memory
// or file. Indices are those of the array that is stored: local ones in a rank's memory, global
// ones in the file of a whole array, those of a chunk from its lower corner.
class Layout {
 public:
  // Without gaps, the first element `offset` bytes (>= 0) from the start. Fails when a byte's
  // offset does not fit into 63 bits.
  static Result<Layout> packed(const Indices& extents, std::int64_t element_bytes, Order order,
                               std::int64_t offset = 0);
  // Packed with ghost cells around; index 0 is the first element that is none.
  static Result<Layout> with_ghosts(const Indices& extents, std::int64_t element_bytes, Order order,
                                    const GhostCells& ghosts);
  // Any strides, negative ones too, as NumPy arrays have them; `offset` is that of index 0. Fails
  // on another number of strides than of extents, and when a byte's offset does not fit into 63
  // bits.
  static Result<Layout> strided(const Indices& extents, std::int64_t element_bytes,
                                std::span<const std::int64_t> strides, std::int64_t offset = 0);

  [[nodiscard]] int dimensions() const { return extents_.size(); }
  [[nodiscard]] const Indices& extents() const { return extents_; }
  [[nodiscard]] std::int64_t element_bytes() const { return element_bytes_; }
  [[nodiscard]] std::int64_t stride(int dimension) const { return strides_[dimension]; }
  [[nodiscard]] std::int64_t offset_of(const Indices& index) const;
  // The least offset of a byte of an element, and the greatest plus 1: what a buffer must hold.
  // When there is no element, both are `offset`.
  struct Bounds {
    std::int64_t lower = 0;
    std::int64_t upper = 0;

    friend bool operator==(const Bounds&, const Bounds&) = default;
  };
  [[nodiscard]] Bounds bounds() const { return bounds_; }
  // Whether it is certain that no two elements share a byte: when each dimension, by ascending
  // stride, steps over all of those before it. Memory that is read into must be so.
  [[nodiscard]] bool elements_are_apart() const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  Layout(const Indices& extents, std::int64_t element_bytes, const Indices& strides,
         std::int64_t offset, Bounds bounds)
      : extents_(extents),
        strides_(strides),
        offset_(offset),
        element_bytes_(element_bytes),
        bounds_(bounds) {}

  Indices extents_;
  Indices strides_;  // bytes
  std::int64_t offset_;
  std::int64_t element_bytes_;
  Bounds bounds_;
};

}  // namespace weir::array

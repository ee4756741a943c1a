// The places of a dense array's elements in memory or in a file: an offset, and one stride per
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
  Indices lower;  // number before the first index of each dimension
  Indices upper;  // number after the last index of each dimension
};

// The element at `index` lies `offset` + Σ stride[d] × index[d] bytes from the start of the memory
// or file. Indices are those of the stored array: local indices in a rank's memory, global indices
// in the file of a whole array, and indices relative to the lower corner in a chunk.
class Layout {
 public:
  // Returns a layout without gaps whose first element lies `offset` bytes (>= 0) from the start.
  // Fails if a byte's offset does not fit into 63 bits.
  static Result<Layout> packed(const Indices& extents, std::int64_t element_bytes, Order order,
                               std::int64_t offset = 0);
  // Returns a packed layout of the elements and the ghost cells around them. Index 0 is the first
  // element that is not a ghost cell.
  static Result<Layout> with_ghosts(const Indices& extents, std::int64_t element_bytes, Order order,
                                    const GhostCells& ghosts);
  // Strides may have any value and sign, like those of NumPy arrays. `offset` is that of index 0.
  // Fails if the number of strides differs from that of extents, or if a byte's offset does not fit
  // into 63 bits.
  static Result<Layout> strided(const Indices& extents, std::int64_t element_bytes,
                                std::span<const std::int64_t> strides, std::int64_t offset = 0);

  [[nodiscard]] int dimensions() const { return extents_.size(); }
  [[nodiscard]] const Indices& extents() const { return extents_; }
  [[nodiscard]] std::int64_t element_bytes() const { return element_bytes_; }
  [[nodiscard]] std::int64_t stride(int dimension) const { return strides_[dimension]; }
  [[nodiscard]] std::int64_t offset_of(const Indices& index) const;
  // The least offset of a byte of an element, and the greatest plus 1: the range that a buffer must
  // contain. If there is no element, both are `offset`.
  struct Bounds {
    std::int64_t lower = 0;
    std::int64_t upper = 0;

    friend bool operator==(const Bounds&, const Bounds&) = default;
  };
  [[nodiscard]] Bounds bounds() const { return bounds_; }
  // Returns whether it is certain that no two elements share a byte: in the order of ascending
  // strides, each dimension's stride steps over everything that the previous dimensions span. The
  // memory that a read fills must satisfy this.
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

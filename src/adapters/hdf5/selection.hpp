// A selection of a dataspace: a regular hyperslab by its blocks; and the bytes of any, in the order
// of its elements, as a datatype of MPI: that of a regular hyperslab is nested vectors, and that of
// another selection is a list of blocks.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "adapters/hdf5/datatype.hpp"

namespace weir::hdf5 {

// A selection of more blocks is passed on.
inline constexpr std::size_t most_blocks = std::size_t{16} << 10;

// Along each dimension, `count` blocks of `block` elements, from `start` on, `stride` apart. Blocks
// that meet are one.
struct Blocks {
  std::array<hsize_t, H5S_MAX_RANK> start{};
  std::array<hsize_t, H5S_MAX_RANK> count{};
  std::array<hsize_t, H5S_MAX_RANK> stride{};
  std::array<hsize_t, H5S_MAX_RANK> block{};

  // Returns the number of elements along a dimension.
  [[nodiscard]] hsize_t along(std::size_t dimension) const {
    return count[dimension] * block[dimension];
  }
};

// Returns a selection that is a regular hyperslab, everything, or nothing. Nothing if it is another
// one.
[[nodiscard]] std::optional<Blocks> selected_blocks(hid_t space);
// The bytes of memory before the first element, and from one element to the next along each
// dimension.
struct StridedMemory {
  std::int64_t offset = 0;
  std::array<std::int64_t, H5S_MAX_RANK> strides{};
};

// Return where the elements of blocks of so many dimensions are in memory: one after the other, or
// in the selection of `space`. Nothing if a number is too large, or if that selection is no box
// with strides of as many elements along each dimension that has several.
[[nodiscard]] std::optional<StridedMemory> dense_memory(const Blocks& blocks, int dimensions,
                                                        std::int64_t element_bytes);
[[nodiscard]] std::optional<StridedMemory> strided_memory(const Blocks& blocks, int dimensions,
                                                          hid_t space, std::int64_t element_bytes);
// Returns the bytes as they lie behind the first element of the dataspace, of which some have to be
// selected. Nothing if the blocks are too many, or if a number is too large for MPI.
[[nodiscard]] std::optional<Datatype> selected_bytes(hid_t space, std::int64_t element_bytes);

}  // namespace weir::hdf5

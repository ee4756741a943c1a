// The bytes of a selection of a dataspace, in the order of its elements, as a datatype of MPI: that
// of a regular hyperslab is nested vectors, and that of another selection is a list of blocks.
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

// Along each dimension, `count` elements from `start` on, `stride` apart.
struct Section {
  std::array<hsize_t, H5S_MAX_RANK> start{};
  std::array<hsize_t, H5S_MAX_RANK> count{};
  std::array<hsize_t, H5S_MAX_RANK> stride{};
};

// Returns a selection that is a box with strides, or is empty. Nothing if it is another one.
[[nodiscard]] std::optional<Section> selected_section(hid_t space);
// The bytes of memory before the first element of a section, and from one element to the next along
// each of its dimensions.
struct StridedMemory {
  std::int64_t offset = 0;
  std::array<std::int64_t, H5S_MAX_RANK> strides{};
};

// Returns where the elements of a section of so many dimensions are in memory, of which `space` is
// the selection. Nothing unless that is a box with strides, too, and as many elements along each
// dimension that has several.
[[nodiscard]] std::optional<StridedMemory> strided_memory(const Section& section, int dimensions,
                                                          hid_t space, std::int64_t element_bytes);
// Returns the bytes as they lie behind the first element of the dataspace, of which some have to be
// selected. Nothing if the blocks are too many, or if a number is too large for MPI.
[[nodiscard]] std::optional<Datatype> selected_bytes(hid_t space, std::int64_t element_bytes);

}  // namespace weir::hdf5

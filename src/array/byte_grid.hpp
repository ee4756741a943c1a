// Finds one array of bytes in which the patterns of all ranks are boxes: its dimensions are the
// strides of the patterns. Ranks that know only their patterns can then move boxes of an array.
//
//     ranks write blocks of 64 bytes at strides of 512 and 4096: an array of n x 8 x 512 bytes
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "array/box.hpp"
#include "array/byte_pattern.hpp"
#include "array/shape.hpp"

namespace weir::array {

struct ByteGrid {
  std::int64_t offset = 0;  // of the array's first byte in the file
  Shape shape = Shape::create({0}).value();
  std::vector<Box> boxes;  // one for each pattern, with its bytes in row-major order
};

// Returns the grid of these patterns, of which some may be empty. Returns nothing if their strides
// are not multiples of each other, or if a pattern is longer than its row and not whole rows.
// A grid begins where the first pattern does, or else at `origin` if given, or a number of its
// outermost strides behind it, so that patterns that move on through a file have equal grids.
[[nodiscard]] std::optional<ByteGrid> grid_of(std::span<const BytePattern> patterns,
                                              std::optional<std::int64_t> origin);

}  // namespace weir::array

// Copies what a rank's memory has of a piece of the file: between that memory, a buffer that holds
// the piece, and a message that holds only this rank's elements, one block after the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/box.hpp"
#include "array/layout.hpp"
#include "array/region.hpp"

namespace weir::aggregation {

// One end of a copy.
struct Side {
  enum class Kind : std::uint8_t { memory, buffer, message };

  Kind kind = Kind::memory;
  const array::Layout* layout = nullptr;  // memory: of the rank's piece; buffer: of the box
  std::byte* data = nullptr;
};

// Copies the elements that `held` (a piece of a rank's part) and `section` have in common inside
// `box`, in the same order whatever the sides are. Returns how many there are.
std::int64_t copy_blocks(const array::Region& held, const array::Region& section,
                         const array::Box& box, std::int64_t element_bytes, const Side& from,
                         const Side& to);

}  // namespace weir::aggregation

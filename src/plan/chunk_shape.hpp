// The shape of an array's chunks from hints, as Disk Resident Arrays take them (Nieplocha and
// Foster 1996): what a typical request looks like, how large a buffer is, and what the file system
// writes at once.
#pragma once

#include <cstdint>
#include <string>

#include "array/element_type.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "plan/platform_rates.hpp"

namespace weir::plan {

struct ChunkHints {
  array::Indices typical_request;               // extents; anything larger than the array's counts
                                                // as the array's
  std::int64_t buffer_bytes = 4 << 20;          // a chunk is not larger
  std::int64_t file_system_block_bytes = 4096;  // a chunk is not smaller, unless the array is
};

struct ChunkShape {
  array::Indices extents;
  std::string reason;  // one line
};

// The chunks in which a typical request, wherever it lies, takes the least time: each chunk that it
// meets is one call and moves whole. Fails on hints of another number of dimensions or below 1, and
// a buffer that does not hold one element.
[[nodiscard]] Result<ChunkShape> chunk_shape_for(const array::Shape& shape,
                                                 const array::ElementType& type,
                                                 const ChunkHints& hints,
                                                 const PlatformRates& rates);

}  // namespace weir::plan

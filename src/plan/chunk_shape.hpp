// Determines the shape of an array's chunks from hints, as Disk Resident Arrays do (Nieplocha and
// Foster 1996): the shape of a typical request, the size of a buffer, and the block size of the
// file system.
#pragma once

#include <cstdint>
#include <string>

#include "array/element_type.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "plan/platform_rates.hpp"

namespace weir::plan {

struct ChunkHints {
  // Extents of a typical request. A larger extent than the array's counts as the array's.
  array::Indices typical_request;
  std::int64_t buffer_bytes = 4 << 20;          // upper limit for a chunk
  std::int64_t file_system_block_bytes = 4096;  // lower limit, unless the array is smaller
};

struct ChunkShape {
  array::Indices extents;
  std::string reason;  // one line
};

// Returns the chunks with which a typical request, averaged over all positions, takes the least
// time: each chunk that the request intersects costs one call and is moved whole. Fails if the
// hints have another number of dimensions or an extent below 1, or if a buffer cannot hold one
// element.
[[nodiscard]] Result<ChunkShape> chunk_shape_for(const array::Shape& shape,
                                                 const array::ElementType& type,
                                                 const ChunkHints& hints,
                                                 const PlatformRates& rates);

}  // namespace weir::plan

// Writes a section of a stored array from memory, in one process; the counterpart of
// read_section().
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "checksums/block_sums.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/read_section.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

// `memory` has the extents section.count and offsets relative to `data`, which is only read.
// Missing files are created if the array's map specifies this. Fails if a chunk has no place.
// Processes may write disjoint sections at the same time. The checksums of the bytes in the file
// are added to `sums`, except for encoded chunks.
Status write_section(const StoredArray& array, const array::Section& section, const std::byte* data,
                     const array::Layout& memory, DataFileCache& files,
                     std::int64_t buffer_bytes = serial_buffer_bytes, BlockSums* sums = nullptr);

// Sets all elements of a section to the array's fill value, or to zero if it has none.
Status write_fill(const StoredArray& array, const array::Section& section, DataFileCache& files);

}  // namespace weir::storage

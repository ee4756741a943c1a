// Writes a section of a stored array from memory, in one process; the counterpart of
// read_section().
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/serial/read_section.hpp"
#include "storage/sums/block_sums.hpp"

namespace weir::storage {

// `memory` has the extents section.count and counts from `data`, which is only read. Files that
// are missing are made where the array's map says so. Fails where a chunk has no place. Processes
// may write disjoint sections at the same time. `sums` gets what is written, as it is in the file;
// not of encoded chunks.
Status write_section(const StoredArray& array, const array::Section& section, const std::byte* data,
                     const array::Layout& memory, DataFileCache& files,
                     std::int64_t buffer_bytes = serial_buffer_bytes, BlockSums* sums = nullptr);

// Gives all elements of a section the array's fill value, zeros where it has none.
Status write_fill(const StoredArray& array, const array::Section& section, DataFileCache& files);

}  // namespace weir::storage

// Reads contiguous bytes of one of a stored array's files.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "storage/engines/slices.hpp"
#include "storage/formats/extent_map.hpp"
#include "storage/serial/data_file_cache.hpp"

namespace weir::storage {

// Fills the slice. False when there is no such file and need not be: its elements were never
// written. Fails when the file ends early.
[[nodiscard]] Result<bool> read_range(const ExtentMap& map, DataFileCache& files, std::int64_t file,
                                      std::int64_t offset, const Slice& slice);

}  // namespace weir::storage

// Reads contiguous bytes of one file of a stored array.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "stored/extent_map.hpp"
#include "system/slices.hpp"

namespace weir::storage {

// Fills the slice. Returns false if the file does not exist and may be missing; its elements were
// then never written. Fails if the file ends early.
[[nodiscard]] Result<bool> read_range(const ExtentMap& map, DataFileCache& files, std::int64_t file,
                                      std::int64_t offset, const Slice& slice);

}  // namespace weir::storage

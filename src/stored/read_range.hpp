// Reads contiguous bytes of one file of a stored array.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "stored/extent_map.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {

// Opens a file of the array. Returns null if the file does not exist and may be missing; its
// elements were then never written.
[[nodiscard]] Result<std::shared_ptr<const File>> open_to_read(const ExtentMap& map,
                                                               DataFileCache& files,
                                                               std::int64_t file);
// Fills the slices. Fails if the file ends early.
Status read_whole(const DataFileCache& files, const File& file, std::span<const Slice> slices,
                  std::int64_t offset);
// Does both: returns false if the file does not exist and may be missing.
[[nodiscard]] Result<bool> read_range(const ExtentMap& map, DataFileCache& files, std::int64_t file,
                                      std::int64_t offset, const Slice& slice);

}  // namespace weir::storage

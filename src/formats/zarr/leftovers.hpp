// Leftovers are what killed runs left of steps that were not committed: files of chunks or shards
// behind the last step, and elements of later steps in files that hold committed ones. Elements
// that are not written must have the fill value again before another step is written.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "formats/zarr/contents.hpp"
#include "formats/zarr/document.hpp"

namespace weir::storage {

// Returns files of chunks or shards that have no element in the array. `folder` is the array's, and
// ends with '/'.
[[nodiscard]] Result<std::vector<std::filesystem::path>> later_files(const ZarrArray& array,
                                                                     const std::string& folder);

// Clears what lies behind the committed steps of every array of the store at `path`.
Status clear_later_steps(const ZarrContents& found, const std::string& path);

}  // namespace weir::storage

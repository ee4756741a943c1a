// Which format the bytes at a path are of: raw data have no mark of their own.
#pragma once

#include <string>
#include <string_view>

#include "common/status.hpp"

namespace weir::storage {

// "hdf5", "cdf5", "cdf2", "cdf1", of a folder "zarr"; "" for all else. Fails where it cannot be
// opened.
[[nodiscard]] Result<std::string_view> format_by_content(const std::string& path);

}  // namespace weir::storage

// Finds the format of the file at a path. Raw data have no mark of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.hpp"

namespace weir::storage {

// Says where HDF5's signature is searched: a user block before it may have any length.
enum class Signature : std::uint8_t { anywhere, at_the_beginning };

// Returns "hdf5", "cdf5", "cdf2" or "cdf1", "zarr" for a folder, and "" for everything else. Fails
// if the path cannot be opened.
[[nodiscard]] Result<std::string_view> format_by_content(const std::string& path,
                                                         Signature where = Signature::anywhere);

}  // namespace weir::storage

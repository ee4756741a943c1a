// Finds the format of the bytes at a path; raw data have no mark of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.hpp"

namespace weir::storage {

// Where HDF5's signature is looked for: what a user put before it may have any length.
enum class Signature : std::uint8_t { anywhere, at_the_beginning };

// "hdf5", "cdf5", "cdf2", "cdf1", of a folder "zarr"; "" for all else. Fails where it cannot be
// opened.
[[nodiscard]] Result<std::string_view> format_by_content(const std::string& path,
                                                         Signature where = Signature::anywhere);

}  // namespace weir::storage

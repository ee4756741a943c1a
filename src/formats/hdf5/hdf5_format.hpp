// HDF5 files, 1.10 and later, by HDF5's own library: groups, contiguous and chunked datasets
// (without codecs, allocated early and never filled), attributes, dimension scales. docs/formats.md
// has the rest.
#pragma once

#include "formats/format.hpp"

namespace weir::storage {

// Returns the format; null in a build without HDF5.
[[nodiscard]] const Format* hdf5_format();

}  // namespace weir::storage

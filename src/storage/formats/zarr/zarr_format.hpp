// Zarr v3: a folder with a document per array and group, chunks or shards in files of their own,
// and all documents again in that of the root ("consolidated metadata"). No compression.
#pragma once

#include "storage/formats/format.hpp"

namespace weir::storage {

[[nodiscard]] const Format* zarr_format();

}  // namespace weir::storage

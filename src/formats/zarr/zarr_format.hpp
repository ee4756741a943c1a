// Zarr v3: a folder with a document per array and group, and chunks or shards in files of their
// own. The root's document contains all documents again ("consolidated metadata").
#pragma once

#include "formats/format.hpp"

namespace weir::storage {

[[nodiscard]] const Format* zarr_format();

}  // namespace weir::storage

// Folders of Zarr v2, which Weir can read but not write.
#pragma once

#include <string>

#include "formats/zarr/store.hpp"

namespace weir::storage {

// Returns whether a folder has documents of v2 and none of v3.
[[nodiscard]] bool is_zarr_v2(const std::string& path);

// Returns all documents, consolidated or found in the folders of groups, converted to v3
// (v2_documents.hpp). Fails if a limit is exceeded.
[[nodiscard]] Result<ZarrDocuments> read_zarr_v2_documents(const std::string& path,
                                                           const ZarrLimits& limits);

}  // namespace weir::storage

// Folders of Zarr v2, which Weir reads and does not write.
#pragma once

#include <string>

#include "storage/formats/zarr/store.hpp"

namespace weir::storage {

// Whether a folder has documents of v2 and none of v3.
[[nodiscard]] bool is_zarr_v2(const std::string& path);

// All documents, consolidated or found in the folders of groups, as those of v3 would be
// (v2_documents.hpp). Fails on what is beyond the limits.
[[nodiscard]] Result<ZarrDocuments> read_zarr_v2_documents(const std::string& path,
                                                           const ZarrLimits& limits);

}  // namespace weir::storage

// The arrays that a store's documents describe, and where their bytes are.
#pragma once

#include <string>
#include <vector>

#include "common/status.hpp"
#include "formats/format.hpp"
#include "formats/zarr/document.hpp"
#include "formats/zarr/store.hpp"
#include "stored/extent_map.hpp"

namespace weir::storage {

// Returns the map of an array whose folder is `folder`, which ends with '/': a file per chunk, or
// shards. Fails if it has too many shards (shards.hpp).
[[nodiscard]] Result<ExtentMap> zarr_map(const ZarrArray& array, const std::string& folder);

struct ZarrContents {
  FileMap map;
  std::vector<ZarrArray> arrays;  // in the order of map.arrays
  // The arrays of map.refused whose documents are damaged.
  std::vector<RefusedArray> damaged;
};

// Returns what the documents of the store at `path` describe. It reads the indices of shards.
[[nodiscard]] ZarrContents zarr_contents(const ZarrDocuments& documents, const std::string& path);

}  // namespace weir::storage

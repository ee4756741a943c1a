// The documents of a Zarr folder.
#pragma once

#include <map>
#include <string>

#include "storage/formats/zarr/document.hpp"

namespace weir::storage {

// By the name of array or group; "" is the root.
using ZarrDocuments = std::map<std::string, ZarrJson>;

// The folder of a node, with '/' at the end.
[[nodiscard]] std::string zarr_folder(const std::string& path, const std::string& name);

// Writes a document so that readers see the old or the new one.
Status write_zarr_document(const std::string& folder, const ZarrJson& document);
// The root's document, which holds those of all others.
Status write_zarr_root(const std::string& path, const ZarrDocuments& documents);

// All documents: the consolidated ones, or those found by walking through the folders of groups
// (symbolic links are not followed; at most 65536 nodes, 32 groups deep).
[[nodiscard]] Result<ZarrDocuments> read_zarr_documents(const std::string& path);

[[nodiscard]] bool is_zarr_array(const ZarrJson& document);

}  // namespace weir::storage

// Reading the documents of a Zarr folder, and finding them without consolidated metadata.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "storage/formats/zarr/store.hpp"

namespace weir::storage {

// A parser should not be made to read gigabytes; consolidated documents are one of all nodes.
inline constexpr std::size_t most_zarr_root_bytes = std::size_t{1} << 26;
inline constexpr std::size_t most_zarr_document_bytes = std::size_t{1} << 20;

// A document of one object. Fails on a longer file, on one that is no JSON, or too deep.
[[nodiscard]] Result<ZarrJson> read_zarr_json(const std::string& file, std::size_t most);

[[nodiscard]] Error too_many_zarr_nodes(const std::string& file, const ZarrLimits& limits);

// The document of the node in a folder (with '/' at its end); nothing where there is no node.
using ZarrNodeReader = std::function<Result<std::optional<ZarrJson>>(const std::string& folder)>;

// Adds the documents of all nodes below the root, a group: of each folder in it, and where that is
// a group, too, of those inside. Symbolic links are not followed. Fails on what is beyond the
// limits.
Status walk_zarr_folders(const std::string& root, const ZarrLimits& limits,
                         const ZarrNodeReader& read_node, ZarrDocuments& documents);

}  // namespace weir::storage

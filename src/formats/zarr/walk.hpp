// Reads the documents of a Zarr folder, and finds them if there is no consolidated metadata.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "formats/zarr/store.hpp"

namespace weir::storage {

// Limits that keep the parser from reading gigabytes. Consolidated documents contain those of all
// nodes.
inline constexpr std::size_t most_zarr_root_bytes = std::size_t{1} << 26;
inline constexpr std::size_t most_zarr_document_bytes = std::size_t{1} << 20;

// Reads a document of one object, and subtracts its bytes from those that all documents may have.
// Fails on a longer file, and on JSON that is invalid or nested too deeply.
[[nodiscard]] Result<ZarrJson> read_zarr_json(const std::string& file, std::size_t most,
                                              std::size_t& left);

[[nodiscard]] Error too_many_zarr_nodes(const std::string& file, const ZarrLimits& limits);

// Returns the document of the node in a folder (with '/' at its end); nothing if there is no node.
using ZarrNodeReader = std::function<Result<std::optional<ZarrJson>>(const std::string& folder)>;

// Adds the documents of all nodes below the root, a group: those of each folder in it, and, if that
// folder is a group, of the folders inside it. Symbolic links are not followed. Fails if a limit is
// exceeded.
Status walk_zarr_folders(const std::string& root, const ZarrLimits& limits,
                         const ZarrNodeReader& read_node, ZarrDocuments& documents);

}  // namespace weir::storage

// Replaces an existing store by a new one, in one process.
//
// clang-format off
//   1. The new store is made like any other, at replacing_path(PATH), beside PATH.
//   2. When it is complete and durable, the two exchange their names in one operation of the file
//      system, so that PATH is a complete store at all times.
//   3. The old store is removed.
// clang-format on
//
// A run that is killed in between leaves a complete store under replacing_path(PATH): the new or
// the old one. The next run does not treat it as a leftover of its own, and does not remove it.
#pragma once

#include <string>

#include "common/status.hpp"

namespace weir::storage {

// Returns whether PATH is a folder with a document of Zarr v3 or v2 at its root.
[[nodiscard]] bool is_zarr_store(const std::string& path);

[[nodiscard]] std::string replacing_path(const std::string& path);

// Does steps 2 and 3. The caller holds PATH's lock.
Status replace_zarr_store(const std::string& path);

}  // namespace weir::storage

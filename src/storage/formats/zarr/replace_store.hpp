// A new store in the place of one that is there, for one process.
//
//   1. The new store is made, as any is, at replacing_path(PATH): beside PATH.
//   2. When it is whole and durable, the two exchange their names in one step of the file system,
//   so
//      that PATH is a whole store at all times.
//   3. The old one is removed.
//
// A run that is killed between them leaves a whole store under replacing_path(PATH): the new one,
// or the old one, which the next run does not take for its own to remove.
#pragma once

#include <string>

#include "common/status.hpp"

namespace weir::storage {

// Whether PATH is a folder with a document of Zarr v3 or v2 at its root.
[[nodiscard]] bool is_zarr_store(const std::string& path);

[[nodiscard]] std::string replacing_path(const std::string& path);

// Steps 2 and 3. Whoever calls it holds PATH's lock.
Status replace_zarr_store(const std::string& path);

}  // namespace weir::storage

// Converts documents of Zarr v2 (.zarray, .zgroup, .zattrs) to those of v3, so that a store is then
// read in only one way.
#pragma once

#include "formats/json.hpp"

namespace weir::storage {

// Make a node's v3 document from its .zarray, or as that of a group, and its .zattrs (null: there
// is none). What has no counterpart in v3 becomes a name that v3 does not have, so that the array
// is refused by that name.
[[nodiscard]] Json v3_of_v2_array(const Json& array, const Json* attributes);
[[nodiscard]] Json v3_of_v2_group(const Json* attributes);

}  // namespace weir::storage

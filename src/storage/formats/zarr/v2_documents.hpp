// Documents of Zarr v2 (.zarray, .zgroup, .zattrs) as those of v3, so that all that is read of a
// store afterwards is read in one way.
#pragma once

#include "storage/json.hpp"

namespace weir::storage {

// Make a node's document of v3 from its .zarray, or as a group's, and its .zattrs (null: it has
// none). What has no counterpart in v3 becomes a name that v3 does not know, so that the array is
// refused by that name.
[[nodiscard]] Json v3_of_v2_array(const Json& array, const Json* attributes);
[[nodiscard]] Json v3_of_v2_group(const Json* attributes);

}  // namespace weir::storage

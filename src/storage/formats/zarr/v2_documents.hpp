// Documents of Zarr v2 (.zarray, .zgroup, .zattrs) as those of v3, so that all that is read of a
// store afterwards is read in one way.
#pragma once

#include "storage/json.hpp"

namespace weir::storage {

// Of a node: its .zarray or .zgroup, and its .zattrs; null: there is none. What has no counterpart
// in v3 becomes a name there that is none, by which the array is refused.
[[nodiscard]] Json v3_of_v2_array(const Json& array, const Json* attributes);
[[nodiscard]] Json v3_of_v2_group(const Json* attributes);

}  // namespace weir::storage

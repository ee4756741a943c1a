// The changes of an open file's arrays when it gets or loses steps or arrays. Rank 0 finds them by
// comparing the maps of the arrays that are open with those that a format has read or laid out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "stored/array_change.hpp"
#include "stored/file_map.hpp"

namespace weir::aggregation {

// One change per array, in the order in which the arrays are open.
using ArrayChanges = std::vector<storage::ArrayChange>;

// Returns the change of an open array, of which `kept` steps remain, to the map that the file has
// for it. It is in the terms of the open array's description: an array that was laid out in
// column-major order keeps it.
[[nodiscard]] storage::ArrayChange change_to(const storage::StoredArray& ours,
                                             storage::ExtentMap theirs, std::int64_t kept);
// Returns the change of each array of `ours`, of which `kept` steps remain. Fails if an array has
// grown beyond what can be read: data written to it would be lost. The error names `path`.
[[nodiscard]] Result<ArrayChanges> changes_to(const storage::FileMap& ours,
                                              const storage::FileMap& theirs, std::int64_t kept,
                                              const std::string& path);

// Returns whether another step only changes the lengths of arrays, as in NetCDF files. The changes
// of thousands of arrays then need not be sent one by one.
[[nodiscard]] bool are_only_longer(const ArrayChanges& changes, std::int64_t steps);

}  // namespace weir::aggregation

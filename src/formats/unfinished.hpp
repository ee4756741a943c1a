// The remains of runs that were killed: files whose creation did not end, and steps that were not
// committed.
#pragma once

#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::storage {

// Returns a line for each such finding in and beside the file at `path`, of any format, or none if
// everything is committed. Fails if there is no file, finished or unfinished, or it cannot be
// opened.
[[nodiscard]] Result<std::vector<std::string>> find_unfinished(const std::string& path);

}  // namespace weir::storage

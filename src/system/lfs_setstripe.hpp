// The command `lfs setstripe` of Lustre, which is run from the search path.
#pragma once

#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::storage {

// Runs the command for a file or folder. If it fails, the error has what it printed, in one line.
// Fails with `unsupported` if the command cannot be run.
[[nodiscard]] Status lfs_setstripe(std::vector<std::string> options, const std::string& path);

}  // namespace weir::storage

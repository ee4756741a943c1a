// What killed runs left: a file whose making did not end, a step that was not committed.
#pragma once

#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::storage {

// A line each, of the file at `path` and beside it, of any format; none where everything is
// committed. Fails when there is no file, finished or not, or none that can be opened.
[[nodiscard]] Result<std::vector<std::string>> find_unfinished(const std::string& path);

}  // namespace weir::storage

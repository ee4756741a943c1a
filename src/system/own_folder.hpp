// A folder that its user alone may enter, for files that no other user may read or replace.
#pragma once

#include <string>

#include "common/status.hpp"

namespace weir::storage {

// Makes the folder if it is missing. Fails if it belongs to another user or others may enter it, or
// if it is a symbolic link; `what` is what the error calls it, such as "the folder of a socket".
[[nodiscard]] Status make_own_folder(const std::string& folder, const std::string& what);

}  // namespace weir::storage

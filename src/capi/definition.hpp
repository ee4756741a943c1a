// What a program has defined in a file, as a text that ranks compare.
#pragma once

#include <string>

#include "stored/file_description.hpp"

namespace weir::capi {

// Returns a text with a hash of all that is defined, which is equal on all ranks that have defined
// the same.
[[nodiscard]] std::string definition_text(const storage::FileDescription& file);

}  // namespace weir::capi

// Raw files: PATH has the elements of all arrays and nothing else, PATH.json says where they are.
#pragma once

#include "formats/format.hpp"

namespace weir::storage {

[[nodiscard]] const Format* raw_format();

}  // namespace weir::storage

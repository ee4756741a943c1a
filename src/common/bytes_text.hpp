// Sizes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

// Returns a number of bytes in the largest binary unit of which it has one, with 4 digits.
std::string bytes_text(std::int64_t bytes);

}  // namespace weir

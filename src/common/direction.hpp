// The direction in which bytes move between memory and files.
#pragma once

#include <cstdint>

namespace weir {

enum class Direction : std::uint8_t { write, read };

}  // namespace weir

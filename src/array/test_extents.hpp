// Extents of arrays far beyond memory, for the tests of arithmetic that must not overflow.
#pragma once

#include <cstdint>

namespace weir::array {

inline constexpr std::int64_t tebi = std::int64_t{1} << 40;

}  // namespace weir::array

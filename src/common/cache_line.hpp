// What a processor's core fetches and owns at a time. Words that different processes write are kept
// this far apart, so that they do not take a line from each other.
#pragma once

#include <cstddef>

namespace weir {

// 64 on x86-64 and on most of ARM. Where lines are longer, neighbours cost time, not correctness.
inline constexpr std::size_t cache_line_bytes = 64;

}  // namespace weir

// The size of a cache line, the unit in which a processor core fetches and owns memory. Words that
// different processes write are kept this far apart, to avoid false sharing.
#pragma once

#include <cstddef>

namespace weir {

// The size is 64 bytes on x86-64 and on most ARM processors. Where lines are longer, false sharing
// costs time, but results stay correct.
inline constexpr std::size_t cache_line_bytes = 64;

}  // namespace weir

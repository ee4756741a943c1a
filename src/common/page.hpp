// The page size of Linux's page cache on x86-64 and most ARM processors: the unit in which the
// system reads, writes and caches a file. Where pages are larger, layouts based on this value are
// still correct, but cost more copying.
#pragma once

#include <cstdint>

namespace weir {

inline constexpr std::int64_t page_bytes = 4096;

}  // namespace weir

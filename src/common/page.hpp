// The page of Linux's cache on x86-64 and most of ARM: what the system reads, writes and keeps of a
// file at a time. Where pages are larger, layouts made by this are right and cost more copying.
#pragma once

#include <cstdint>

namespace weir {

inline constexpr std::int64_t page_bytes = 4096;

}  // namespace weir

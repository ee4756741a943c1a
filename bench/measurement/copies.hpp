#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::bench {

// Copies `bytes` from one place to another, again and again, and returns the seconds of one copy,
// which are above 0.
[[nodiscard]] double seconds_of_a_copy(std::byte* to, const std::byte* from, std::int64_t bytes,
                                       std::int64_t copies);

}  // namespace weir::bench

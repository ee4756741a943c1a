// Counts the bytes that operator new has allocated in this program. It is for tests and
// measurements, which link weir_counted_memory; that library replaces operator new, except for
// over-aligned types.
#pragma once

#include <cstddef>

namespace weir {

[[nodiscard]] std::size_t live_bytes();
// Returns the largest value of live_bytes() since the last reset_most_live_bytes().
[[nodiscard]] std::size_t most_live_bytes();
void reset_most_live_bytes();

}  // namespace weir

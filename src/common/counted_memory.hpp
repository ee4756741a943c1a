// Bytes that new has given out in this program: for tests and measurements, which link
// weir_counted_memory. It replaces operator new, but for over-aligned types.
#pragma once

#include <cstddef>

namespace weir {

[[nodiscard]] std::size_t live_bytes();
// The most of them at once since the last reset_most_bytes().
[[nodiscard]] std::size_t most_live_bytes();
void reset_most_live_bytes();

}  // namespace weir

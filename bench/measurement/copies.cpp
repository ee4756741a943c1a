#include "measurement/copies.hpp"

#include <algorithm>
#include <cstring>

#include "common/clock.hpp"

namespace weir::bench {

double seconds_of_a_copy(std::byte* to, const std::byte* from, std::int64_t bytes,
                         std::int64_t copies) {
  const std::int64_t start = monotonic_ns();
  for (std::int64_t i = 0; i < copies; ++i) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    // The copy must happen although nothing reads its result.
    asm volatile("" : : "r"(to) : "memory");
  }
  return seconds_of(std::max<std::int64_t>(1, monotonic_ns() - start)) /
         static_cast<double>(copies);
}

}  // namespace weir::bench

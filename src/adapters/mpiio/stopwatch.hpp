// Measures how long calls take: in ticks of the processor's time stamp counter where the system's
// own clock is that counter, which then runs at one rate on all processors. Two readings take 20 ns
// less than two of the clock, a twentieth of a short call. Elsewhere, and where calls are recorded
// in their order, a tick is a nanosecond of the clock.
#pragma once

#include <cstdint>

#include "adapters/preloaded/record_file.hpp"
#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace weir::mpiio {

// Written once, while the library is loaded.
inline constinit bool counts_ticks = false;

[[nodiscard]] inline std::int64_t now_ticks() {
#ifdef __x86_64__
  if (counts_ticks) return static_cast<std::int64_t>(__rdtsc());
#endif
  return preloaded::now_ns();
}

// Finds the rate of ticks between two moments that are far apart, as the beginning and the end of a
// program are.
class TickRate {
 public:
  void begin();
  void end();
  [[nodiscard]] std::int64_t ns_of(std::int64_t ticks) const;

 private:
  std::int64_t begin_ns_ = 0;
  std::int64_t begin_ticks_ = 0;
  double ns_of_tick_ = 1;
};

}  // namespace weir::mpiio

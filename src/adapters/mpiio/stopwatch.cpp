#include "adapters/mpiio/stopwatch.hpp"

#include <cmath>

namespace weir::mpiio {

void TickRate::begin() {
  begin_ns_ = preloaded::now_ns();
  begin_ticks_ = now_ticks();
}

void TickRate::end() {
  const std::int64_t ticks = now_ticks() - begin_ticks_;
  const std::int64_t ns = preloaded::now_ns() - begin_ns_;
  if (counts_ticks && ticks > 0) {
    ns_of_tick_ = static_cast<double>(ns) / static_cast<double>(ticks);
  }
}

std::int64_t TickRate::ns_of(std::int64_t ticks) const {
  return counts_ticks ? std::llround(static_cast<double>(ticks) * ns_of_tick_) : ticks;
}

}  // namespace weir::mpiio

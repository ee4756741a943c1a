// In place of bench/measurement/clock_offset.cpp: all simulated ranks read the same clock.
#include "measurement/clock_offset.hpp"

#include "common/clock.hpp"

namespace weir::bench {

Result<ClockOffset> estimate_clock_offset(MPI_Comm /*comm*/, std::int64_t /*deadline_ns*/,
                                          Clocks /*clocks*/) {
  return ClockOffset{.offset_ns = 0, .error_bound_ns = 0, .measured_at_ns = monotonic_ns()};
}

ClockOffset interpolate(const ClockOffset& start, const ClockOffset& /*end*/,
                        std::int64_t local_ns) {
  return {.offset_ns = start.offset_ns,
          .error_bound_ns = start.error_bound_ns,
          .measured_at_ns = local_ns};
}

}  // namespace weir::bench

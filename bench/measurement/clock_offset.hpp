// Measures the offsets between the ranks' clocks, with a bound on their error.
//
// CLOCK_MONOTONIC of two processes may differ by any amount: hosts count from their own boot, and a
// time namespace shifts the clock of some processes of one host. Therefore every rank measures its
// offset from rank 0, except where the system says that two ranks read the same clock.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/status.hpp"

namespace weir::bench {

// A time t of this rank's monotonic_ns() near `measured_at_ns` is t + offset_ns on rank 0's clock,
// with an error of at most error_bound_ns. The bound is a proof, not an estimate: it holds even if
// the two directions of the network differ in speed.
struct ClockOffset {
  std::int64_t offset_ns = 0;
  std::int64_t error_bound_ns = 0;
  std::int64_t measured_at_ns = 0;  // on this rank's clock
};

// `as_the_system_says`: ranks of which the system says that they read the same clock share one
// offset. `measured`: every rank is assumed to have a clock of its own.
enum class Clocks { as_the_system_says, measured };

// Collective over `comm`; takes some milliseconds. Rank 0 gets zeros.
//
// A rank that receives no message from its partner before `deadline_ns` (on its own monotonic_ns())
// returns ErrorCode::deadline, and so do the ranks below it in the tree, while others may succeed.
// Requests are then left pending on `comm`, so the job can only be ended.
Result<ClockOffset> estimate_clock_offset(MPI_Comm comm, std::int64_t deadline_ns,
                                          Clocks clocks = Clocks::as_the_system_says);

// Returns the offset at `local_ns` from one estimate at the run's start and one at its end. Drift
// is assumed to be linear, and the larger of the two bounds is kept. Outside the interval, the
// nearer estimate holds.
[[nodiscard]] ClockOffset interpolate(const ClockOffset& start, const ClockOffset& end,
                                      std::int64_t local_ns);

}  // namespace weir::bench

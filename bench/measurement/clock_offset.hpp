// Offsets between the ranks' clocks, with a bound on their error.
//
// CLOCK_MONOTONIC of two processes may differ by anything: hosts count from their own boot, and a
// time namespace shifts the clock of some processes of one host. So every rank measures its offset
// from rank 0, but for those that the system tells to read one clock.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/status.hpp"

namespace weir::bench {

// A time t of this rank's monotonic_ns() near `measured_at_ns` is t + offset_ns on rank 0's clock,
// wrong by at most error_bound_ns. The bound is a proof, not an estimate: it holds however uneven
// the two directions of the network are.
struct ClockOffset {
  std::int64_t offset_ns = 0;
  std::int64_t error_bound_ns = 0;
  std::int64_t measured_at_ns = 0;  // on this rank's clock
};

// Whether ranks may be told by the system that they read one clock. `measured`: all are taken for
// clocks of their own.
enum class Clocks { as_the_system_says, measured };

// Collective over `comm`; takes some milliseconds. Rank 0 gets zeros.
//
// A rank that does not hear from its partner before `deadline_ns` (its own monotonic_ns()) returns
// ErrorCode::deadline, and so do the ranks below it in the tree, while others may succeed; requests
// are then left open on `comm`, so the job can only be ended.
Result<ClockOffset> estimate_clock_offset(MPI_Comm comm, std::int64_t deadline_ns,
                                          Clocks clocks = Clocks::as_the_system_says);

// The offset at `local_ns`, between an estimate at the run's start and one at its end: drift is
// taken as linear, and the larger of the two bounds is kept. Outside the two, the nearer one holds.
[[nodiscard]] ClockOffset interpolate(const ClockOffset& start, const ClockOffset& end,
                                      std::int64_t local_ns);

}  // namespace weir::bench

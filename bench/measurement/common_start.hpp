// Lets all ranks begin at the same time.
//
// Ranks leave a barrier one after the other. Where many ranks share a processor, the last one
// leaves when the first has long finished what was to be measured; the span from the first start to
// the last end is then that of the barrier. Therefore all ranks sleep after the barrier until a
// common time. It is a little later than the time at which the last rank left the previous barrier:
//   1. One reduction finds when the last rank arrived, on rank 0's clock, and how long after the
//      last arrival the slowest rank left the previous reduction.
//   2. Every rank sleeps until that arrival plus twice that delay, at least 1 ms and at most 1 s.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/status.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

class CommonStart {
 public:
  // Sets the offset of this rank's clock. Call it again as clocks drift.
  void set_offset(const ClockOffset& offset) { offset_ = offset; }
  // Collective over `communicator`. Returns at the common time, or at once if that time has already
  // passed; the next common time is then later. The first call is therefore only a trial.
  Status wait(MPI_Comm communicator, std::int64_t deadline_ns);
  // Call this on a rank that has finished, before it meets the others. It sleeps about as long as
  // the others may take to begin, because meeting them also takes processor time.
  void leave_processor() const;

 private:
  ClockOffset offset_;
  std::int64_t wait_ns_ = 0;  // from the arrival of the last rank to the common time
  std::int64_t late_ns_ =
      0;  // from the arrival of the last rank until this rank left the reduction
};

}  // namespace weir::bench

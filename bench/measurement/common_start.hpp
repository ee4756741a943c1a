// Beginning on all ranks at one time.
//
// Ranks leave a barrier one after the other. Where many share a processor, the last does so when
// the first has long ended what was to be measured, and the span from the first beginning to the
// last end is the barrier's. So, after the barrier, all sleep until a time that lies a little later
// than the last of them left the one before:
//   1. One reduction finds when the last rank came, on rank 0's clock, and how late the latest left
//      the reduction before this one.
//   2. Every rank sleeps until the first plus twice the second, at least 1 ms and at most 1 s.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/status.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

class CommonStart {
 public:
  // Sets the offset of this rank's clock; to be set anew as clocks drift.
  void set_offset(const ClockOffset& offset) { offset_ = offset; }
  // Collective over `communicator`. Returns at the common time, or at once when it has passed: then
  // it comes later the next time. So the first time is for trying.
  Status wait(MPI_Comm communicator, std::int64_t deadline_ns);
  // To be called by a rank that is done, before it meets the others: sleeps about as long as they
  // may take to begin, since meeting takes processor time, too.
  void leave_processor() const;

 private:
  ClockOffset offset_;
  std::int64_t wait_ns_ = 0;  // from the last one's coming to the common time
  std::int64_t late_ns_ = 0;  // how long after the last one came this rank left the reduction
};

}  // namespace weir::bench

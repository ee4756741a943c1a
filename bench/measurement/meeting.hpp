// A meeting of the ranks before and after an operation: they inform each other of failures and
// agree on the duration of the operation. It is the span from the first rank's start to the last
// rank's end, on rank 0's clock.
//
// Every function is collective over the job. It returns the same value on every rank, or an error
// on every rank.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

// One rank's part of an operation, on its own monotonic_ns().
struct Times {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

class Meeting {
 public:
  // `offset` is that of this rank's clock. The job must outlive the meeting.
  Meeting(const Job& job, const ClockOffset& offset) : job_(job), offset_(offset) {}

  Status meet(Status mine, Waiting waiting = Waiting::awake);
  struct Span {
    std::int64_t start_ns = 0;  // on rank 0's clock
    std::int64_t ns = 1;        // at least 1
  };
  Result<Span> start_and_span(Status mine, const Times& times, Waiting waiting = Waiting::awake);
  // Returns only the nanoseconds of the span.
  Result<std::int64_t> span(Status mine, const Times& times, Waiting waiting = Waiting::awake);
  Result<double> slowest(double seconds);
  // Replaces each element by its sum over the ranks. All ranks give equally many values.
  Status sum(std::vector<std::int64_t>* values);
  // Converts a time of this rank's monotonic_ns() to rank 0's clock.
  [[nodiscard]] std::int64_t on_first_rank(std::int64_t ns) const { return ns + offset_.offset_ns; }
  // Returns rank 0's value.
  Result<double> from_first_rank(double value);

  // Returns the lowest rank that failed, after an error.
  [[nodiscard]] int failed_rank() const { return failed_rank_; }

 private:
  Status wait(MPI_Request& request, Waiting waiting);
  // Returns what this rank reports after a meeting whose lowest failed rank is `lowest`.
  Status told(Status mine, int lowest);

  const Job& job_;
  ClockOffset offset_;
  int failed_rank_ = none_failed;
};

}  // namespace weir::bench

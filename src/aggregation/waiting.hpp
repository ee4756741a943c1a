// Waiting without holding a core that another rank could use, and never for ever.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/status.hpp"

namespace weir::aggregation {

// Between two looks at what is waited for. Yields the processor at once, since there may be more
// ranks than cores; sleeps for moments when a wait gets long.
class Patience {
 public:
  explicit Patience(double deadline_seconds) : deadline_seconds_(deadline_seconds) {}
  // What was waited for moved on: the deadline counts from here.
  void reset() { looks_ = 0; }
  // False when the deadline has passed since the last reset().
  [[nodiscard]] bool look_again();

 private:
  double deadline_seconds_;
  std::int64_t looks_ = 0;
  std::int64_t began_ns_ = 0;
};

// The error of a wait whose deadline passed.
[[nodiscard]] Error deadline_passed(const char* what, double deadline_seconds);

// Tests a request until it completes.
[[nodiscard]] Status wait_for(MPI_Request& request, double deadline_seconds, const char* what);

}  // namespace weir::aggregation

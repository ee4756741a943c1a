// A rank that waits for a request (job.hpp) leaves the processor to others between two tests.
// Simulated ranks, which share one thread, have sim/library/request_wait.cpp instead.
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "common/clock.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

Status wait_for(MPI_Request& request, std::int64_t deadline_ns, const char* what, Waiting waiting) {
  constexpr std::int64_t shortest_nap_ns = 20'000;
  constexpr std::int64_t longest_nap_ns = 500'000;
  std::int64_t nap_ns = shortest_nap_ns;
  int done = 0;
  while (true) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return {};
    if (monotonic_ns() > deadline_ns) {
      Error error;
      error.code = ErrorCode::deadline;
      error.operation = what;
      error.message =
          std::string(what) +
          " did not end before the deadline (--deadline): another rank hangs or is lost";
      return error;
    }
    if (waiting == Waiting::awake) {
      sched_yield();
    } else {
      const timespec nap{0, nap_ns};
      nanosleep(&nap, nullptr);
      nap_ns = std::min(2 * nap_ns, longest_nap_ns);
    }
  }
}

}  // namespace weir::bench

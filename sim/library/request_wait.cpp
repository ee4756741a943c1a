// In place of bench/measurement/request_wait.cpp: simulated time passes until the request has
// ended. A rank that others wait for in vain is a deadlock, which SimGrid reports.
#include "library/simulated_rank.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

Status wait_for(MPI_Request& request, std::int64_t /*deadline_ns*/, const char* /*what*/,
                Waiting /*waiting*/) {
  sim::wake_looking(*sim::this_rank().node);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return {};
}

}  // namespace weir::bench

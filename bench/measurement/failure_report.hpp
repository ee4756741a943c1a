// A failure that was agreed on at a barrier goes to rank 0 and ends the run (failure.hpp).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "common/status.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

// A failure that all ranks have learned of at a barrier, as one rank knows it.
struct KnownFailure {
  Error error;                     // this rank's own error, or that another rank failed
  int failed_rank = none_failed;   // the same on every rank
  nlohmann::ordered_json details;  // further facts from this rank, for `save`
};

// Ends a run of which every rank knows that it failed; collective. The failed rank's error and
// details go to rank 0, which calls `save` (may be empty) with the details, records the failure and
// prints its line. Every rank removes its test files. Returns the exit status. A rank whose wait
// passed the deadline cannot reach the others: it records the failure and ends the process.
int end_after_failure(const Job& job, FailureGuard& guard, const KnownFailure& failure,
                      const std::function<Status(const nlohmann::ordered_json&)>& save);

}  // namespace weir::bench

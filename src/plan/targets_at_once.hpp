// At how many targets the callers of a plan are at a time, when all begin together.
//
// Callers whose parts of the file begin at the same target stay together: each takes as long for
// its first stripe as all of them at that target, and goes on to the same next one. So a file on 64
// targets may be as slow as on two.
#pragma once

#include "common/status.hpp"
#include "plan/parameters.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace weir::plan {

// Returns the number, from the places at which some callers begin: aggregators, or with
// Strategy::direct ranks. It is that of equally loaded targets at which two callers meet as often,
// times the stripes over which what one moves first lies; all targets that the request's stripes
// reach, if it is at least half of them. Fails if Plan::create does.
[[nodiscard]] Result<double> targets_at_once(const Request& request,
                                             const topology::Topology& topology,
                                             const topology::FileTargets& targets,
                                             const Parameters& parameters);

}  // namespace weir::plan

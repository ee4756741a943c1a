// How long the callers of a plan take for their operations on striped targets, on a machine that is
// simulated by flows. All begin together, and each does one operation at a time:
//
//     caller ──► place behind its way out ──► turn there ───────────────┐
//                (as many as may be          (calls and copied bytes of ├─► the next operation
//                under way at a time)        one operation at a time)   │
//                                              ├──► targets ────────────┘
//                                              │    (share their rate among what is there)
//
// A sum of bytes divided by rates has neither callers that follow each other from target to target,
// nor callers with one stripe more than others, nor those that wait for their turn while a target
// waits for them.
#pragma once

#include <optional>

#include "common/status.hpp"
#include "plan/parameters.hpp"
#include "plan/platform_rates.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace weir::plan {

// Returns the seconds; nothing if these are too many operations to go through, if files have no
// stripes, or if the rate of the targets is not known. Fails if Plan::create does.
[[nodiscard]] Result<std::optional<double>> queue_seconds(const Request& request,
                                                          const topology::Topology& topology,
                                                          const topology::FileTargets& targets,
                                                          const PlatformRates& rates,
                                                          const Parameters& parameters);

}  // namespace weir::plan

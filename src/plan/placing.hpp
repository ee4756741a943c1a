// Chooses the nodes of a group's aggregators by the data that they gather, for the placements
// `nearest` and `priced` (topology/aggregator_placement.hpp).
//
// The work is bounded whatever the size of the job: in large groups a few of the aggregators are
// sampled, and each of the others is placed like the sampled one before it, whose part of the file
// is next to its own.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"
#include "topology/aggregator_placement.hpp"

namespace weir::plan {

// The largest number of aggregators of a group that are placed by their data: each rank keeps the
// position of each of them.
inline constexpr std::int64_t most_placed_by_data = 65536;

// Returns the position, in its group, of the node of each of the plan's aggregators. `placement`
// is that of the plan, before positions are given. The result is the same on all ranks.
[[nodiscard]] std::vector<std::int32_t> positions_by_data(
    const Plan& plan, const topology::AggregatorPlacement& placement);

}  // namespace weir::plan

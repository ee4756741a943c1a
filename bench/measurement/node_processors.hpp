// The ranks of a node share processors; this counts them.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

// Returns the number of processors on which some rank of a node may run, the least over the nodes;
// 0 if it is not known on one of them. Collective, and the same on all ranks.
[[nodiscard]] Result<std::int64_t> processors_of_a_node(const Job& job);

}  // namespace weir::bench

// The table that weir-bench prints at the end of a run: the rate of the others by the number of
// pollers. On rank 0.
#pragma once

#include <string>
#include <vector>

#include "workloads/flagfile/results.hpp"

namespace weir::bench::flagfile {

// Returns a line for each configuration. Rates are compared with that without pollers, if it was
// measured.
[[nodiscard]] std::string table(const std::vector<const FlagRun*>& runs);

}  // namespace weir::bench::flagfile

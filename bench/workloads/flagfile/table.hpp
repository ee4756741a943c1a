// What weir-bench prints at the end of a run: how the others fare by the number of pollers. On rank
// 0.
#pragma once

#include <string>
#include <vector>

#include "workloads/flagfile/results.hpp"

namespace weir::bench::flagfile {

// A line for each configuration; rates are compared with that of no pollers, where there is one.
[[nodiscard]] std::string table(const std::vector<const FlagRun*>& runs);

}  // namespace weir::bench::flagfile

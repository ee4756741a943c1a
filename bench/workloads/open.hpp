// `weir-bench open`: what it costs to create and to open files that ranks share.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// The arguments after the workload's name. Returns the exit status.
int run_open(const std::vector<std::string>& arguments);

}  // namespace weir::bench

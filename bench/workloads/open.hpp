// `weir-bench open` measures the cost of creating and opening files that ranks share.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// `arguments` are those after the workload's name. Returns the exit status.
int run_open(const std::vector<std::string>& arguments);

}  // namespace weir::bench

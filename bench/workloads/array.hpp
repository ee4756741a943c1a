// The array workload: writes and reads whole arrays and sections through Weir's interface and
// through other interfaces, for comparison.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// Runs `weir-bench array ARGUMENTS` and returns the exit status.
int run_array(const std::vector<std::string>& arguments);

}  // namespace weir::bench

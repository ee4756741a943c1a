// The synthetic workload: large and small transfers in IOR's patterns, through five interfaces.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// Runs `weir-bench stream ARGUMENTS` and returns the exit status.
int run_stream(const std::vector<std::string>& arguments);

}  // namespace weir::bench

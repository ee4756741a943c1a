// The array workload: whole arrays and sections, through Weir's interface and those it is held
// against.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// `weir-bench array ARGUMENTS`: returns the exit status.
int run_array(const std::vector<std::string>& arguments);

}  // namespace weir::bench

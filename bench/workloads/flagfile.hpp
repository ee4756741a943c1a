// `weir-bench flagfile` measures how ranks that poll a file slow down the other ranks.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// `arguments` are those after the workload's name. Returns the exit status.
int run_flagfile(const std::vector<std::string>& arguments);

}  // namespace weir::bench

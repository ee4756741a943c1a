// `weir-bench flagfile`: what ranks that poll a file do to everyone else.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// The arguments after the workload's name. Returns the exit status.
int run_flagfile(const std::vector<std::string>& arguments);

}  // namespace weir::bench

// What the library would do with an array on a machine of any size: its plan, audited, without the
// machine, without MPI and without a file.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// `weir-bench plan ARGUMENTS`: returns the exit status.
int run_plan(const std::vector<std::string>& arguments);

}  // namespace weir::bench

// Computes and audits the library's plan for an array on a machine of any size, without the
// machine, MPI or a file.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// Runs `weir-bench plan ARGUMENTS` and returns the exit status.
int run_plan(const std::vector<std::string>& arguments);

}  // namespace weir::bench

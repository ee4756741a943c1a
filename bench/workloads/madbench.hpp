// The workload `madbench`: MADbench2's I/O mode (Borrill et al., "HPC Global File System
// Performance Analysis Using A Scientific-Application Derived Benchmark").
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// `arguments` come after the workload's name. Calls MPI_Init and MPI_Finalize where ranks are
// needed (not for --help and --plan). Returns the exit status.
int run_madbench(const std::vector<std::string>& arguments);

}  // namespace weir::bench

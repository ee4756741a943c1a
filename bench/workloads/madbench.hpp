// The workloads `madbench` and `madcap`: MADbench2 in I/O mode and in full, and the analysis that
// it is derived from (Borrill et al., "HPC Global File System
// Performance Analysis Using A Scientific-Application Derived Benchmark").
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// `arguments` come after the workload's name. Calls MPI_Init and MPI_Finalize where ranks are
// needed (not for --help and --plan). Returns the exit status.
int run_madbench(const std::vector<std::string>& arguments);
int run_madcap(const std::vector<std::string>& arguments);

}  // namespace weir::bench

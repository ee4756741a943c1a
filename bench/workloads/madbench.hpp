// The workloads `madbench` and `madcap`: MADbench2 in I/O mode and in full mode, and the analysis
// from which it is derived (Borrill et al., "HPC Global File System Performance Analysis Using A
// Scientific-Application Derived Benchmark").
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// Run the workload; `arguments` come after its name. Call MPI_Init and MPI_Finalize if ranks are
// needed (not for --help and --plan). Return the exit status.
int run_madbench(const std::vector<std::string>& arguments);
int run_madcap(const std::vector<std::string>& arguments);

}  // namespace weir::bench

// The workload `probe`: measures, in under a minute, the performance of each part of this machine's
// I/O path, for a platform description.
//
// The probe writes probe.json (python/weir/results/probe.py): trials of single operations at
// several sizes and numbers of ranks, on one or more targets, interleaved in rounds of random
// order.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// Runs the workload; `arguments` come after its name. Calls MPI_Init and MPI_Finalize (not for
// --help). Returns the exit status. If it cannot measure, it ends with one line on standard error.
// The test files in DIR/weir-probe-ID/ are removed in any case.
int run_probe(const std::vector<std::string>& arguments);

}  // namespace weir::bench

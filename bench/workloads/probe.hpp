// The workload `probe`: what each part of this machine's path does, in under a minute, for a
// platform description.
//
// Writes probe.json (python/weir/results/probe.py): trials of single operations at several sizes
// and numbers of ranks, on one or more targets, interleaved in rounds of random order.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// `arguments` come after the workload's name. Calls MPI_Init and MPI_Finalize (not for --help).
// Returns the exit status. Ends with one line on standard error when it cannot measure; the test
// files in DIR/weir-probe-ID/ are removed in every ending.
int run_probe(const std::vector<std::string>& arguments);

}  // namespace weir::bench

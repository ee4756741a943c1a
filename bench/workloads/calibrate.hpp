// The workload `calibrate`: a few seconds of the simplest I/O by all ranks together. From its
// result, `weir` predicts what a run should reach.
//
// The workload writes calibration.json (python/weir/results/calibration.py). The measurements are
// the simplest form of the benchmark's: every rank moves consecutive pieces to or from a file of
// its own, the ranks meet before and after each piece, and a rate is the bytes of all ranks over
// the sum, over the pieces, of the span from the first start to the last end.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// Runs the workload; `arguments` come after its name. Calls MPI_Init and MPI_Finalize (not for
// --help). Returns the exit status. If it cannot measure, it ends with one line on standard error.
// The test files DIR/weir-calibrate-ID/RANK are removed in any case.
int run_calibrate(const std::vector<std::string>& arguments);

}  // namespace weir::bench

// The workload `calibrate`: a few seconds of the simplest I/O, made by all ranks together, from
// which `weir` says beforehand what a run should reach.
//
// Writes calibration.json (python/weir/results/calibration.py). Figures are measured as the
// benchmark does in its simplest form: every rank moves consecutive pieces to or from a file of its
// own, the ranks meet before and after each piece, and a rate is the bytes of all ranks over the
// sum of the spans from the first start to the last end of each piece.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

// `arguments` come after the workload's name. Calls MPI_Init and MPI_Finalize (not for --help).
// Returns the exit status. Ends with one line on standard error when it cannot measure; the test
// files DIR/weir-calibrate-ID/RANK are removed in every ending.
int run_calibrate(const std::vector<std::string>& arguments);

}  // namespace weir::bench

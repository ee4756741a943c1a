// Ranks of a job that give their place to stagers (--staging ranks), while a workload runs on the
// others.
#pragma once

#include <mpi.h>

#include <functional>

namespace weir::bench {

// Ranks of each node that give their place to a stager: its last one.
inline constexpr int stager_ranks_per_node = 1;

// Collective over MPI_COMM_WORLD. Calls `run` with the communicator of all other ranks, and returns
// what it returns. A rank that gives its place to a stager waits until the stager has ended, and
// returns 0. If no stager can be started, rank 0 prints one line, and all ranks return exit_usage.
int run_beside_stagers(const std::function<int(MPI_Comm)>& run);

}  // namespace weir::bench

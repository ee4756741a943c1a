// What every workload that sweeps configurations does around its own work: from the command line
// to MPI, from MPI to the folder of results.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/run_folder.hpp"

namespace weir::bench {

// Prints the line for the user of a wrong request, which is wrong on every rank alike: the line
// names none. Returns exit_usage.
int complain(Error error);

// The settings as results name them: without those that say where weir-bench itself reads and
// writes, with underscores, and with the unit in the names of `sizes`.
[[nodiscard]] nlohmann::ordered_json result_parameters(const Settings& settings,
                                                       const std::vector<std::string>& sizes);

// run.json of every configuration before the first repetition. Call on rank 0.
[[nodiscard]] Result<std::vector<nlohmann::ordered_json>> write_new_runs(
    const JobFolders& folders, const std::vector<RunHead>& heads, const CoreSettings& core);

// Starts MPI, calls `run` with the number of ranks, ends MPI. Returns what `run` returns.
int run_under_mpi(const std::function<int(int ranks)>& run);

}  // namespace weir::bench

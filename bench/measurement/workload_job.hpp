// What every workload that sweeps configurations does around its own work: from the command line
// to MPI, from MPI to the folder of results.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>
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

// The ranks that --plan is asked to plan for, which --ranks says.
[[nodiscard]] Result<std::int64_t> ranks_to_plan_for(const Settings& settings);

// One configuration of what --plan prints.
struct PlannedConfiguration {
  std::string label;
  std::string slug;
  bool asynchronous = false;
  nlohmann::ordered_json parameters;
  nlohmann::ordered_json plan;
};

// Prints what --plan prints, as JSON: `transfer_bytes` is the largest transfer's; `notes` say how
// the command line was taken. Returns 0.
int print_planned(const std::vector<PlannedConfiguration>& configurations, const CoreSettings& core,
                  std::int64_t transfer_bytes, const std::vector<std::string>& notes);

// run.json of every configuration before the first repetition. Call on rank 0.
[[nodiscard]] Result<std::vector<nlohmann::ordered_json>> write_new_runs(
    const JobFolders& folders, const std::vector<RunHead>& heads, const CoreSettings& core);

// Starts MPI, calls `run` with the number of ranks, ends MPI. Returns what `run` returns.
int run_under_mpi(const std::function<int(int ranks)>& run);

// From the settings to MPI for a workload without configurations: prints the help that is asked
// for, complains, or runs the request.
template <typename Request>
int run_request(const Result<ResolvedSettings>& resolved,
                Result<Request> (*request_of)(const Settings& settings),
                int (*run)(const Job& job, const Request& request)) {
  if (resolved && resolved.value().help) {
    fmt::print("{}", *resolved.value().help);
    return 0;
  }
  return run_under_mpi([&](int /*ranks*/) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto request =
        resolved ? request_of(resolved.value().settings) : Result<Request>(resolved.error());
    if (!request) return rank == 0 ? complain(request.error()) : exit_usage;
    return run(Job::create(request.value().deadline_seconds), request.value());
  });
}

// The folder beside the result `output` of such a workload, which is there while it is not
// finished. It is made anew on rank 0: what an earlier failure left must not silence a new one.
[[nodiscard]] std::string unfinished_folder(const std::string& output);
[[nodiscard]] Status make_unfinished_folder(const std::string& output);
// Removes test files and that folder. Returns the exit status.
int end_well(const Job& job, FailureGuard& guard, const std::string& output);

}  // namespace weir::bench

// A workload that sweeps configurations, from its command line to its results. The steps that all
// workloads share are here; a workload overrides what differs.
//
// clang-format off
// The steps on every rank:
//   1. check_places() on rank 0, check_nodes(), check_room() on rank 0. If one fails, the program
//      prints one line and ends, and nothing has been written.
//   2. The folders of results and test files are created (run_folder.hpp). From here on a guard
//      removes the test files of a run that breaks off (failure.hpp).
//   3. prepare(), then the run.json of every configuration, with status "running".
//   4. make_runs(), the sweep over the runs (sweep.hpp), finish().
//   5. Rank 0 calls print() and removes the remaining test files.
// A failure in 3 or 4 reaches every rank and ends the run in the same way on all of them.
// clang-format on
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/swept_run.hpp"
#include "measurement/workload_job.hpp"

namespace weir::bench {

// A job whose folders exist. It outlives everything that a workload creates for it.
struct JobUnderWay {
  const Job& job;
  FailureGuard& guard;
  const JobFolders& folders;
  const std::vector<std::string>& command;  // as the user gave it
};

class SweptWorkload {
 public:
  SweptWorkload() = default;
  SweptWorkload(const SweptWorkload&) = delete;
  SweptWorkload& operator=(const SweptWorkload&) = delete;
  virtual ~SweptWorkload() = default;

  [[nodiscard]] virtual const CoreSettings& core() const = 0;
  // Returns at least one configuration, in the order of the results.
  [[nodiscard]] virtual std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const = 0;
  // Returns the size of the largest transfer, or 0 if there are no transfers.
  [[nodiscard]] virtual std::int64_t transfer_bytes(std::int64_t /*ranks*/) const { return 0; }

  // Fails if a directory is missing or has too little room. Local.
  [[nodiscard]] virtual Status check_places(std::int64_t /*ranks*/) const {
    return check_directory(core().directory, core().striping);
  }
  // Creates the directories that the user asked for. On rank 0, after all checks.
  virtual Status make_places() { return {}; }
  // Fails if the nodes lack a resource that the run needs. Collective; all ranks return the same
  // status.
  virtual Status check_nodes(const Job& /*job*/) { return {}; }
  // Fails if a directory has too little room, if check_places() has not looked at it. Local.
  [[nodiscard]] virtual Status check_room(std::int64_t /*ranks*/) const { return {}; }

  // Returns what the guard removes if the run breaks off before the workload has given it more.
  [[nodiscard]] virtual TestFiles test_files(const JobFolders& folders) const {
    return {.directory = folders.test_directory,
            .paths = {},
            .rank_folders = {},
            .job_folders = folders.further_test_directories};
  }
  // Returns the files to be removed after a successful run.
  [[nodiscard]] virtual TestFiles leftovers(const JobFolders& folders) const {
    return {.directory = folders.test_directory,
            .paths = {},
            .rank_folders = {},
            .job_folders = folders.further_test_directories};
  }

  // prepare(), make_runs() and finish() are collective. They fail on every rank or on none;
  // `failed_rank` is then the lowest rank that has the cause.
  virtual Status prepare(const JobUnderWay& /*under_way*/, int* /*failed_rank*/) { return {}; }
  // Creates one run for each configuration. `started` holds the run.json of each so far on rank 0,
  // and nulls on other ranks.
  virtual Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(
      const JobUnderWay& under_way, std::vector<nlohmann::ordered_json> started,
      int* failed_rank) = 0;
  virtual Status finish(const JobUnderWay& /*under_way*/, int* /*failed_rank*/) { return {}; }

  // Returns notes on how the command line was understood, which the user sees before the run.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
  // Returns the settings whose values the program has chosen by what it found on the nodes, as the
  // user would give them to repeat the run; an empty object if there are none.
  [[nodiscard]] virtual nlohmann::ordered_json decided() const;
  // Returns the arguments that make a repetition's files or messages few, and as small as they can
  // be. A run with them measures what a file or a message takes beside its bytes. There are none if
  // calibrations say enough of the workload.
  [[nodiscard]] virtual std::vector<std::string> few_bytes() const { return {}; }
  // Returns the warnings for the results. On rank 0, after prepare().
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
  // Returns the directory whose file system the results describe. After make_runs().
  [[nodiscard]] virtual std::string measured_directory(const JobFolders& folders) const {
    return folders.test_directory;
  }
  // Returns further facts from this rank after a repetition has failed.
  [[nodiscard]] virtual nlohmann::ordered_json failure_details(const Job& job) const;
  // Prints the figures for the user at the terminal. On rank 0.
  virtual void print(const JobUnderWay& /*under_way*/) const {}
};

// Makes the workload that a command line requests, for a job with `ranks` ranks.
using MadeWorkload = Result<std::unique_ptr<SweptWorkload>>;
using MakeWorkload = std::function<MadeWorkload(const Settings& settings, std::int64_t ranks)>;

// Returns the workload for a request, or the error if the request could not be read.
template <typename Workload, typename Request>
[[nodiscard]] MadeWorkload workload_for(Result<Request> request) {
  if (!request) return request.error();
  return std::unique_ptr<SweptWorkload>(std::make_unique<Workload>(std::move(request).value()));
}

// The ranks of the job on which a workload runs; unless it says otherwise, all of them.
struct JobRanks {
  // Calls `run` on each of these ranks, with their communicator, and returns what it returns. It is
  // called on all ranks of the job.
  std::function<int(const std::function<int(MPI_Comm)>& run)> choose = nullptr;
  int left_out = 0;  // of each node
};

// Does what the command line requests: prints the help or the plan, or performs the run under MPI.
// A plan with --ranks is made without MPI; one without it is of the job in which it is started.
// `name` is the workload's name on the command line and in results; `arguments` are those after it.
// Returns the exit status. Where ranks of each node are left out, a plan is for one node.
int run_swept_workload(const std::string& name, const std::vector<std::string>& arguments,
                       const Result<ResolvedSettings>& resolved, const MakeWorkload& make,
                       const JobRanks& job_ranks = {});

}  // namespace weir::bench

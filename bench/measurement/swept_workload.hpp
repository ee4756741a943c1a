// A workload that sweeps configurations, from its command line to its results. What all of them do
// alike is here; a workload gives what is its own.
//
// On every rank:
//   1. check_places() on rank 0, then check_nodes(). What is refused here ends with one line, and
//      nothing has been written.
//   2. The folders of results and test files are made (run_folder.hpp). From here on a guard
//   removes
//      the test files of a run that breaks off (failure.hpp).
//   3. prepare(), then run.json of every configuration, with status "running".
//   4. make_runs(), the sweep over them (sweep.hpp), finish().
//   5. Rank 0 calls print() and removes what is left of the test files.
// A failure in 3 or 4 is every rank's, and ends the run in the same way on all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
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

// A job whose folders are there. It outlives all that a workload makes for it.
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
  // At least one, in the order of the results.
  [[nodiscard]] virtual std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const = 0;
  // The largest of a transfer; 0 where none is made.
  [[nodiscard]] virtual std::int64_t transfer_bytes(std::int64_t /*ranks*/) const { return 0; }

  // Whether the directories are there, and have room. Local.
  [[nodiscard]] virtual Status check_places(std::int64_t /*ranks*/) const {
    return check_directory(core().directory, core().striping);
  }
  // Makes directories that the user asked to be made. On rank 0, after check_places().
  virtual Status make_places() { return {}; }
  // Whether the nodes have what it takes. Collective; the same answer on every rank.
  virtual Status check_nodes(const Job& /*job*/) { return {}; }

  // What the guard removes when the run breaks off before the workload has told it more.
  [[nodiscard]] virtual TestFiles test_files(const JobFolders& folders) const {
    return {.directory = folders.test_directory, .paths = {}};
  }
  // What is left to be removed when all went well.
  [[nodiscard]] virtual TestFiles leftovers(const JobFolders& folders) const {
    return {.directory = folders.test_directory, .paths = {}};
  }

  // prepare(), make_runs() and finish() are collective, and fail on every rank or on none:
  // `failed_rank` is then the lowest rank that has the cause.
  virtual Status prepare(const JobUnderWay& /*under_way*/, int* /*failed_rank*/) { return {}; }
  // One run for each configuration. `started`: run.json of each so far; on other ranks than 0,
  // null.
  virtual Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(
      const JobUnderWay& under_way, std::vector<nlohmann::ordered_json> started,
      int* failed_rank) = 0;
  virtual Status finish(const JobUnderWay& /*under_way*/, int* /*failed_rank*/) { return {}; }

  // What a user is told before the run of how the command line was taken.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
  // What the results are to warn of. On rank 0, after prepare().
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
  // The directory whose file system the results describe. After make_runs().
  [[nodiscard]] virtual std::string measured_directory(const JobFolders& folders) const {
    return folders.test_directory;
  }
  // What this rank has to tell besides, when a repetition has failed.
  [[nodiscard]] virtual nlohmann::ordered_json failure_details(const Job& /*job*/) const {
    return nlohmann::ordered_json::array();
  }
  // The figures, for who is at the terminal. On rank 0.
  virtual void print(const JobUnderWay& /*under_way*/) const {}
};

// What a command line asks for, when the job has `ranks` ranks.
using MadeWorkload = Result<std::unique_ptr<SweptWorkload>>;
using MakeWorkload = std::function<MadeWorkload(const Settings& settings, int ranks)>;

// The workload for a request that could be read.
template <typename Workload, typename Request>
[[nodiscard]] MadeWorkload workload_for(Result<Request> request) {
  if (!request) return request.error();
  return std::unique_ptr<SweptWorkload>(std::make_unique<Workload>(std::move(request).value()));
}

// Does what the command line asks for: help, the plan, or, under MPI, the run. `name` is the
// workload's on the command line and in results; `arguments` are those after it. Returns the exit
// status.
int run_swept_workload(const std::string& name, const std::vector<std::string>& arguments,
                       const Result<ResolvedSettings>& resolved, const MakeWorkload& make);

}  // namespace weir::bench

// Runs all configurations of one job: their repetitions interleave in random order. Writes their
// results.
//
// In every round each unfinished configuration runs once, in a newly drawn order, so that a slow
// period of the machine affects all configurations alike. A configuration is finished when its
// headline rates have converged or --max-repetitions is reached or, if the work itself is an
// iteration, when that has ended. --time-limit ends all configurations once each has one counted
// repetition.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/progress.hpp"
#include "measurement/run_folder.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/run_results.hpp"

namespace weir::bench::madbench {

struct SweepInputs {
  const Job& job;
  FailureGuard& guard;
  const CoreSettings& core;
  const JobFolders& folders;
  Size size;
  std::vector<Variant> variants;
  std::string remap;
  double alpha = 0;
  bool is_full = false;                      // otherwise I/O mode
  std::vector<nlohmann::ordered_json> runs;  // run.json of each variant so far; on rank 0
  std::vector<std::string> command;
};

class Sweep {
 public:
  Sweep(SweepInputs inputs, Executor& executor);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep() = default;

  // Collective. Runs everything, writes the results, and prints the tables on rank 0. On a failure
  // every rank returns an error, and `failed_rank()` is the lowest rank that has the cause.
  Status run();
  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  // Writes what was measured before a failure, still with status "running". FailureGuard::record()
  // sets the status. Call it on rank 0.
  Status save_unfinished(const nlohmann::ordered_json& payload_errors);

 private:
  Status run_round(int round);
  Status run_once(RunResults& results, int round);
  // Returns whether rank 0 decides that this configuration needs no more repetitions. Collective.
  [[nodiscard]] bool is_finished(RunResults& results) const;
  Status write_results(const nlohmann::json& quiet);
  [[nodiscard]] Status write_run(RunResults& results) const;
  [[nodiscard]] nlohmann::ordered_json clocks_json(const RunResults& results,
                                                   const ClockOffset& end) const;
  [[nodiscard]] const RunResults* synchronous_sibling(const Variant& variant) const;
  // Returns true on rank 0 if `weir` requested progress reports.
  [[nodiscard]] bool tells_progress() const { return in_.job.rank == 0 && in_.core.progress_json; }
  [[nodiscard]] std::vector<RunProgress> progress() const;
  void print_tables();
  [[nodiscard]] double elapsed_seconds() const;

  SweepInputs in_;
  Executor& executor_;
  JobFacts facts_;
  std::vector<RunResults> results_;
  std::vector<bool> finished_;  // by configuration
  std::int64_t local_start_ns_ = 0;
  int executed_ = 0;  // repetitions so far, over all configurations
  int failed_rank_ = none_failed;
  const RunResults* failed_ = nullptr;
};

}  // namespace weir::bench::madbench

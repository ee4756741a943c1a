// Runs all configurations of one job: their repetitions interleave in random order. Writes their
// results.
//
// In every round each unfinished configuration runs once, in a newly drawn order, so that a slow
// period of the machine affects all configurations alike. A configuration is finished when its
// rates have converged or --max-repetitions is reached. --time-limit ends all configurations once
// each has one counted repetition.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/progress.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/swept_run.hpp"

namespace weir::bench {

struct SweepInputs {
  const Job& job;
  FailureGuard& guard;
  const CoreSettings& core;
  const JobFolders& folders;
  std::string directory;  // the results describe the file system of this directory
  std::vector<std::string> command;
};

class Sweep {
 public:
  // `runs`, of which there is at least one, has the order of the results.
  Sweep(SweepInputs inputs, std::vector<std::unique_ptr<SweptRun>> runs);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep() = default;

  // Collective. Runs everything and writes the results. On a failure every rank returns an error,
  // and `failed_rank()` is the lowest rank that has the cause.
  Status run();
  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  // Writes what was measured before a failure, still with status "running". FailureGuard::record()
  // sets the status. Call it on rank 0.
  Status save_unfinished(const nlohmann::ordered_json& payload_errors);

 private:
  Status run_round(int round);
  Status run_once(std::size_t index, int round);
  [[nodiscard]] bool is_finished(SweptRun& run) const;
  Status write_results(const nlohmann::json& quiet);
  [[nodiscard]] Status write_run(SweptRun& run) const;
  [[nodiscard]] nlohmann::ordered_json clocks_json(const SweptRun& run,
                                                   const ClockOffset& end) const;
  // Returns true on rank 0 if `weir` requested progress reports.
  [[nodiscard]] bool tells_progress() const { return in_.job.rank == 0 && in_.core.progress_json; }
  [[nodiscard]] std::vector<RunProgress> progress() const;
  [[nodiscard]] double elapsed_seconds() const;

  SweepInputs in_;
  JobFacts facts_;
  std::vector<std::unique_ptr<SweptRun>> runs_;
  std::vector<bool> finished_;  // by configuration
  std::int64_t local_start_ns_ = 0;
  int executed_ = 0;  // repetitions so far, over all configurations
  int failed_rank_ = none_failed;
  const SweptRun* failed_ = nullptr;
};

}  // namespace weir::bench

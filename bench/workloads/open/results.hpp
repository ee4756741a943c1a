// A configuration of the workload open in the sweep over all configurations: from its repetitions'
// times and its counted pass to its run.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "measurement/series.hpp"
#include "measurement/swept_run.hpp"
#include "workloads/open/execute.hpp"

namespace weir::bench::opening {

class OpenRun final : public SweptRun {
 public:
  // The executor and the options must outlive the run. `counted` is on rank 0, and empty if calls
  // were not counted. `run` is the run.json so far, on rank 0.
  OpenRun(Variant variant, const Options& options, Executor& executor, CountedSteps counted,
          nlohmann::ordered_json run);

  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }

  // Returns the seconds from the start of the first rank to the end of the last. On rank 0.
  [[nodiscard]] const Series& seconds_of_step(Step step) const {
    return step_seconds_[static_cast<std::size_t>(step)];
  }
  [[nodiscard]] const CountedSteps& counts() const { return counted_; }

 private:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;
  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const override;
  [[nodiscard]] std::string how_verified() const override;
  [[nodiscard]] nlohmann::ordered_json operations_json(Step step) const;

  Variant variant_;
  const Options& options_;
  Executor& executor_;
  CountedSteps counted_;
  RepetitionTimes times_;  // of the latest repeat()
  std::vector<Series> step_seconds_ = std::vector<Series>(step_count, Series(Unit::seconds));
  int job_nodes_ = 1;
};

}  // namespace weir::bench::opening

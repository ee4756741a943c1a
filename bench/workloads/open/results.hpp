// A configuration of the workload open in the sweep over all configurations: from its repetitions'
// times and its counted pass to its run.json.
#pragma once

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "measurement/swept_run.hpp"
#include "workloads/open/execute.hpp"

namespace weir::bench::opening {

class OpenRun final : public SweptRun {
 public:
  // The executor and the options must outlive the run. `counted` is on rank 0, and empty if calls
  // were not counted. `run` is the run.json so far, on rank 0.
  OpenRun(Variant variant, const Options& options, Executor& executor, CountedSteps counted,
          nlohmann::ordered_json run);

  [[nodiscard]] const std::string& label() const override { return variant_.label; }
  [[nodiscard]] const std::string& slug() const override { return variant_.slug; }
  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }
  void add(const JobFacts& facts, const RepetitionPlace& place) override;
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks) override;
  [[nodiscard]] std::span<const Event> events() const override { return {}; }
  [[nodiscard]] int repetitions() const override { return repetitions_; }
  nlohmann::ordered_json& run() override { return run_; }
  [[nodiscard]] int counted() const override { return static_cast<int>(seconds_.size()); }
  // Returns whether the times of creating and of opening are known accurately enough.
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const override;
  [[nodiscard]] double shortest_seconds() const override { return shortest_seconds_; }

  [[nodiscard]] const std::vector<double>& seconds_of_step(Step step) const {
    return step_seconds_[static_cast<std::size_t>(step)];
  }
  [[nodiscard]] const CountedSteps& counts() const { return counted_; }

 private:
  [[nodiscard]] nlohmann::ordered_json operations_json(Step step, int job_nodes) const;

  Variant variant_;
  const Options& options_;
  Executor& executor_;
  CountedSteps counted_;
  RepetitionTimes times_;  // of the latest repeat()
  std::int64_t files_verified_ = 0;
  std::int64_t bytes_verified_ = 0;
  int repetitions_ = 0;
  // The following members are for rank 0. Seconds are from the start of the first rank to the end
  // of the last.
  nlohmann::ordered_json run_;
  std::vector<double> seconds_;  // of each counted repetition
  std::array<std::vector<double>, step_count> step_seconds_;
  double shortest_seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace weir::bench::opening

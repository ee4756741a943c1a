// A configuration of the workload flagfile in the sweep over all configurations: from its
// repetitions' records to its run.json. The results of the others and of the pollers are two
// actions, `stat` and `poll`, as in the workload metadata.
#pragma once

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "measurement/swept_run.hpp"
#include "workloads/flagfile/execute.hpp"

namespace weir::bench::flagfile {

// The rates of one part over the counted repetitions, in operations per second. On rank 0.
struct PartRates {
  std::vector<double> barrier;  // over the longest time including the closing barrier
  std::vector<double> span;     // over the time from the first rank's start to the last rank's end
  std::vector<double> sum_of_ranks;
};

class FlagRun final : public SweptRun {
 public:
  // The executor and the options must outlive the run. `run` is the run.json so far, on rank 0.
  FlagRun(Variant variant, const Options& options, Executor& executor, nlohmann::ordered_json run);

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
  // Returns whether the rate of the others is known accurately enough.
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const override;
  // Returns the shortest time until the flag was seen, because that time compares clocks.
  [[nodiscard]] double shortest_seconds() const override { return shortest_notice_; }

  [[nodiscard]] std::int64_t pollers() const { return variant_.pollers; }
  [[nodiscard]] const PartRates& others() const { return rates_[0]; }
  [[nodiscard]] const PartRates& polls() const { return rates_[1]; }
  [[nodiscard]] const std::vector<double>& notices() const { return notices_; }

 private:
  struct PartHistory {
    LatencyHistogram latencies;        // of this rank
    std::int64_t node_operations = 0;  // node leaders: in the last repetition
    double node_busy_seconds_max = 0;  // node leaders: of one rank, over the repetitions
    std::vector<double> node_rates;    // node leaders: by repetition
  };

  nlohmann::ordered_json add_part(const JobFacts& facts, Part part, bool counts);

  Variant variant_;
  const Options& options_;
  Executor& executor_;
  RankRecord record_;  // of the latest repeat()
  std::array<PartHistory, 2> history_;
  std::int64_t files_verified_ = 0;
  int repetitions_ = 0;
  // The following members are for rank 0.
  std::array<PartRates, 2> rates_;
  nlohmann::ordered_json run_;
  std::vector<double> seconds_;
  std::vector<double> notices_;  // from setting the flag until the last poller saw it
  double shortest_notice_ = std::numeric_limits<double>::infinity();
};

}  // namespace weir::bench::flagfile

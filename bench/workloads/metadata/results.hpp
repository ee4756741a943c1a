// A configuration of metadata in the sweep over all configurations: from its repetitions' records
// to its run.json.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "measurement/swept_run.hpp"
#include "workloads/metadata/execute.hpp"

namespace weir::bench::metadata {

// One phase over all ranks, on rank 0. Rates are in operations per second.
struct PhaseRates {
  std::int64_t operations = 0;
  double barrier = 0;  // over the longest time from the first barrier to the end of the last
  double span = 0;     // over the time from the first rank's start to the last rank's end
  double sum_of_ranks = 0;
  double barrier_seconds = 0;
  double span_seconds = 0;
};

// The counted repetitions of an action.
struct ActionHistory {
  Measured measured;
  LatencyHistogram latencies;           // rank 0: of all ranks
  std::vector<PhaseRates> repetitions;  // rank 0
  std::int64_t node_operations = 0;     // node leaders: in the last repetition
  double node_busy_seconds_max = 0;     // node leaders: of one rank, over the repetitions
  std::vector<double> node_rates;       // node leaders: by repetition
};

class MetadataRun final : public SweptRun {
 public:
  // The executor and the options must outlive the run. `run` is the run.json so far, on rank 0.
  MetadataRun(Variant variant, const Options& options, Executor& executor,
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
  void put_rates(const RepetitionPolicy& policy) override;
  [[nodiscard]] int counted() const override { return static_cast<int>(seconds_.size()); }
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const override;
  [[nodiscard]] double shortest_seconds() const override { return shortest_span_seconds_; }

  [[nodiscard]] const Variant& variant() const { return variant_; }
  [[nodiscard]] const std::vector<ActionHistory>& history() const { return history_; }

 private:
  void add_phase(const JobFacts& facts, const ActionRecord& record, bool counts,
                 ActionHistory& history, nlohmann::ordered_json& phases);

  Variant variant_;
  Executor& executor_;
  RepetitionRecord record_;  // of the latest repeat()
  std::vector<ActionHistory> history_;
  std::vector<NodeReport> nodes_;  // on rank 0, set at the end
  std::int64_t items_verified_ = 0;
  int repetitions_ = 0;
  // The following members are for rank 0.
  nlohmann::ordered_json run_;
  std::vector<double> seconds_;
  double shortest_span_seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace weir::bench::metadata

// A configuration of madbench in the sweep over all configurations: from its repetitions' records
// to its run.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/result.hpp"
#include "measurement/swept_run.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/table.hpp"

namespace weir::bench::madbench {

class MadbenchRun final : public SweptRun {
 public:
  // The executor must outlive the run. `run` is the run.json so far, on rank 0.
  MadbenchRun(Configuration configuration, Executor& executor, nlohmann::ordered_json run);

  // Sets the SYNC run of the same interface and file type, with which this run is compared. There
  // is no comparison if `sibling` is null or this is not called.
  void hold_against(const MadbenchRun* sibling) { sibling_ = sibling; }

  [[nodiscard]] const std::string& label() const override { return configuration_.label; }
  [[nodiscard]] const std::string& slug() const override { return configuration_.slug; }
  Status repeat(std::int32_t repetition) override;
  Status clear() override { return executor_.remove_files(configuration_); }
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }
  void add(const JobFacts& facts, const RepetitionPlace& place) override;
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks) override;
  [[nodiscard]] std::span<const Event> events() const override { return events_; }
  [[nodiscard]] int repetitions() const override { return repetitions_; }
  nlohmann::ordered_json& run() override { return run_; }
  void put_rates(const RepetitionPolicy& policy) override;
  [[nodiscard]] int counted() const override { return static_cast<int>(seconds_.size()); }
  // If the work itself is an iteration, one repetition is enough, and the run is settled when the
  // iteration has ended; otherwise when the headline rates of both directions have converged.
  [[nodiscard]] int least(const RepetitionPolicy& policy) const override;
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const override;
  // Returns the mean time of an operation, over all ranks, in the counted phase where it is
  // shortest.
  [[nodiscard]] double shortest_seconds() const override { return shortest_operation_; }

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  // Returns the functions' times in the counted repetition with the median time. On rank 0.
  [[nodiscard]] const std::vector<FunctionTimes>& median_times() const;

 private:
  struct PhaseHistory {
    explicit PhaseHistory(const PhaseKey& what) : key(what) {}

    PhaseKey key;
    LatencyHistogram latencies;      // of this rank, over the counted repetitions
    std::int64_t node_bytes = 0;     // node leaders: of the last repetition
    std::vector<double> node_rates;  // node leaders: of every counted repetition
    double node_io_seconds_max = 0;  // node leaders: over the counted repetitions
  };

  [[nodiscard]] nlohmann::ordered_json add_phases(const JobFacts& facts, bool counted);
  [[nodiscard]] nlohmann::ordered_json add_functions(const JobFacts& facts);
  [[nodiscard]] nlohmann::ordered_json nodes_json(std::span<const NodeReport> nodes) const;
  [[nodiscard]] nlohmann::ordered_json effective_json() const;
  [[nodiscard]] bool asynchronous() const { return configuration_.variant.mode == Mode::async; }

  Configuration configuration_;
  Executor& executor_;
  const MadbenchRun* sibling_ = nullptr;
  RepetitionRecord record_;  // of the latest repeat()
  std::vector<PhaseHistory> phases_;
  std::vector<Event> events_;
  std::int64_t bytes_verified_ = 0;
  int repetitions_ = 0;
  // The following members are for rank 0.
  nlohmann::ordered_json run_;
  std::vector<DirectionRates> write_rates_;  // counted repetitions
  std::vector<DirectionRates> read_rates_;
  std::vector<double> seconds_;
  std::vector<std::vector<FunctionTimes>> tables_;  // warm-ups included
  double shortest_operation_;
};

}  // namespace weir::bench::madbench

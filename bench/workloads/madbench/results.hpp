// A configuration of madbench in the sweep over all configurations: from its repetitions' records
// to its run.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/series.hpp"
#include "measurement/swept_run.hpp"
#include "measurement/target_directories.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/message_figures.hpp"
#include "workloads/madbench/table.hpp"

namespace weir::bench::madbench {

class MadbenchRun final : public SweptRun {
 public:
  // The executor must outlive the run. `run` is the run.json so far, on rank 0.
  MadbenchRun(Configuration configuration, Executor& executor, nlohmann::ordered_json run);

  // Sets the SYNC run of the same interface and file type, with which this run is compared. There
  // is no comparison if `sibling` is null or this is not called.
  void hold_against(const MadbenchRun* sibling) { sibling_ = sibling; }

  Status repeat(std::int32_t repetition) override;
  Status clear() override { return executor_.remove_files(configuration_); }
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }
  [[nodiscard]] std::span<const Event> events() const override { return events_; }
  // If the work itself is an iteration, one repetition is enough, and the run is settled when the
  // iteration has ended.
  [[nodiscard]] int least(const RepetitionPolicy& policy) const override;
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const override;

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] const MadbenchRun* sibling() const { return sibling_; }
  [[nodiscard]] const MessageFigures& messages() const { return messages_; }

  // Returns the functions' times in the counted repetition with the median time. On rank 0.
  [[nodiscard]] const std::vector<FunctionTimes>& median_times() const;

 private:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;
  void put_last(const JobFacts& facts) override;
  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const override;
  [[nodiscard]] std::string how_verified() const override {
    return executor_.work().how_verified();
  }
  // Clocks are compared over the mean time of an operation, over all ranks, in the counted phase
  // where it is shortest.
  [[nodiscard]] std::string shortest_part() const override { return "operation"; }

  // Both are collective.
  nlohmann::ordered_json phases_json(const JobFacts& facts, bool counted);
  nlohmann::ordered_json functions_json(const JobFacts& facts);
  [[nodiscard]] nlohmann::ordered_json effective_json() const;
  // Returns the number of the directory with which this rank moves data in a phase.
  [[nodiscard]] std::size_t target_of(const JobFacts& facts, const PhaseKey& key) const;
  [[nodiscard]] const Rates& rates(Direction direction) const {
    return direction == Direction::write ? write_rates_ : read_rates_;
  }

  Configuration configuration_;
  Executor& executor_;
  const MadbenchRun* sibling_ = nullptr;
  RepetitionRecord record_;  // of the latest repeat()
  std::vector<PhaseKey> phases_;
  std::vector<Event> events_;
  MessageFigures messages_;
  bool exchanges_ = false;  // whether the work exchanged messages
  // The following members are for rank 0.
  TargetSeries targets_;
  Rates write_rates_;
  Rates read_rates_;
  std::vector<std::vector<FunctionTimes>> tables_;  // warm-ups included
};

}  // namespace weir::bench::madbench

// A configuration of the array workload in the sweep over all of them: what its run.json has beside
// what every workload's has, and its line of the table.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/phased_run.hpp"
#include "workloads/array/execute.hpp"

namespace weir::bench::array_io {

class ArrayRun final : public PhasedRun {
 public:
  // All references must outlive the run. `run`: run.json so far, on rank 0.
  ArrayRun(Configuration configuration, const Options& options, Executor& executor,
           std::string directory, nlohmann::ordered_json run);

  // The run that this one is held against; null or not called: none.
  void hold_against(const ArrayRun* peak) { peak_ = peak; }

  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }
  void add(const JobFacts& facts, const RepetitionPlace& place) override;
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks) override;

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }

  // On rank 0, of one direction over the counted repetitions.
  struct Line {
    double rate = 0;            // median, bytes per second; 0: there is no such phase
    double share_of_peak = 0;   // median over rounds; 0: not known
    double moved_per_byte = 0;  // median; 0: not known
    double balance = 0;         // median; 0: not known
    std::int64_t movers = 0;    // of the last repetition
    // Medians of the mean over ranks, seconds: planning, gathering, storage, waiting; none where
    // the interface does not tell.
    std::vector<double> stage_seconds;
  };
  [[nodiscard]] Line line(Direction direction) const;

 private:
  struct History {
    std::vector<double> moved_per_byte;
    std::vector<double> balance;
    std::int64_t movers = 0;
    std::array<std::vector<double>, 4> stage_seconds;
  };
  // Collective. On rank 0 the phase's "array".
  [[nodiscard]] nlohmann::ordered_json costs_json(const JobFacts& facts,
                                                  const ArrayPhaseRecord& costs, std::int64_t bytes,
                                                  bool counted);
  [[nodiscard]] nlohmann::ordered_json peaks_json() const;
  [[nodiscard]] double share_of_peak(Direction direction) const;
  [[nodiscard]] const History& history(Direction direction) const {
    return direction == Direction::write ? writing_ : reading_;
  }

  Configuration configuration_;
  Executor& executor_;
  std::vector<ArrayPhaseRecord> phases_;  // of the repetition that repeat() carried out
  const ArrayRun* peak_ = nullptr;
  History writing_;  // on rank 0
  History reading_;
};

// What is printed at the end. On rank 0.
[[nodiscard]] std::string table(const Geometry& geometry, const std::vector<const ArrayRun*>& runs);

}  // namespace weir::bench::array_io

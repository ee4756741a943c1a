// A configuration of the array workload in the sweep over all configurations: the parts of its
// run.json that other workloads lack, and its line of the table.
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
  // All references must outlive the run. `directories` are those of the test files. `run` is the
  // run.json so far, on rank 0.
  ArrayRun(Configuration configuration, const Options& options, Executor& executor,
           const std::vector<std::string>& directories, nlohmann::ordered_json run);

  // Sets the run with which this run is compared. There is no comparison if `peak` is null or this
  // is not called.
  void hold_against(const ArrayRun* peak) { peak_ = peak; }

  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }

  // The figures of one direction over the counted repetitions. On rank 0.
  struct Line {
    double rate = 0;            // median, bytes per second; 0: there is no such phase
    double share_of_peak = 0;   // median over rounds; 0: unknown
    double moved_per_byte = 0;  // median; 0: unknown
    double balance = 0;         // median; 0: unknown
    std::int64_t movers = 0;    // in the last repetition
    // Medians of the mean over ranks of the seconds for planning, gathering, storage and waiting.
    // The member is empty if the interface does not report these seconds.
    std::vector<double> stage_seconds;
  };
  [[nodiscard]] Line line(Direction direction) const;

 private:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_last(const JobFacts& facts) override;

  struct History {
    std::vector<double> moved_per_byte;
    std::vector<double> balance;
    std::int64_t movers = 0;
    std::array<std::vector<double>, 4> stage_seconds;
  };
  // Collective. Returns the phase's "array" on rank 0.
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
  std::vector<ArrayPhaseRecord> phases_;  // of the latest repeat()
  const ArrayRun* peak_ = nullptr;
  History writing_;  // on rank 0
  History reading_;
};

// Returns the table that is printed at the end. On rank 0.
[[nodiscard]] std::string table(const Geometry& geometry, const std::vector<const ArrayRun*>& runs);

}  // namespace weir::bench::array_io

// A configuration whose repetition consists of a phase of writing and a phase of reading. A
// workload derives from it and carries out a repetition.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "measurement/phase_record.hpp"
#include "measurement/record_figures.hpp"
#include "measurement/swept_run.hpp"
#include "measurement/target_directories.hpp"

namespace weir::bench {

// Says what a workload specifies of a configuration beforehand.
struct ResultSubject {
  bool write = true;
  bool read = true;
  // The directories of the test files. The ranks' files are distributed round-robin to several.
  std::vector<std::string> directories;
  bool sync_each = false;      // every write is durable by itself
  bool stonewalled = false;    // phases stop at a wall
  bool traced = true;          // the trace is not switched off
  double outlier_seconds = 0;  // 0: no warning
  std::string how_verified;    // empty: leaves the text in run.json
};

// One phase of one counted repetition, on rank 0.
struct CountedPhase {
  Direction direction = Direction::write;
  int iteration = 0;  // number of counted repetitions before this one
  RecordFigures figures;
  CacheVerdict served_by = CacheVerdict::unknown;
};

class PhasedRun : public SweptRun {
 public:
  // `run` is the run.json so far, on rank 0.
  PhasedRun(std::string label, std::string slug, ResultSubject subject, nlohmann::ordered_json run);

  [[nodiscard]] std::span<const Event> events() const override { return events_; }
  // The following functions are for rank 0.
  [[nodiscard]] const std::vector<CountedPhase>& counted_phases() const { return counted_phases_; }
  // Returns the rates of the counted repetitions; empty if the direction has no phase.
  [[nodiscard]] std::vector<double> span_rates(Direction direction) const;

 protected:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;
  void put_last(const JobFacts& facts) override;
  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const override;
  [[nodiscard]] std::string how_verified() const override { return subject_.how_verified; }
  [[nodiscard]] std::string shortest_part() const override { return "phase"; }

  RepetitionRecord record_;  // of the latest repeat()

 private:
  struct PhaseHistory {
    Direction direction = Direction::write;
    Rates rates = Rates::of_bytes();
  };

  // `phase` is the number of the phase in a repetition.
  nlohmann::ordered_json phase_figures(const JobFacts& facts, std::size_t phase, bool counted);
  void warn_of_outlier(const JobFacts& facts, const RecordFigures& figures);

  ResultSubject subject_;
  std::vector<PhaseHistory> phases_;  // on rank 0, as the following members
  std::vector<CountedPhase> counted_phases_;
  TargetSeries targets_;
  // The following members are this rank's.
  std::vector<Event> events_;
  std::int64_t trace_step_ = 1;
};

}  // namespace weir::bench

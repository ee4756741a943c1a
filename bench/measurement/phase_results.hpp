// Assembles what one configuration measured, from its repetitions' records to its run.json, for
// workloads whose repetition consists of a phase of writing and a phase of reading.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/record_figures.hpp"
#include "measurement/result.hpp"
#include "measurement/swept_run.hpp"

namespace weir::bench {

// What a workload specifies of a configuration beforehand.
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
};

class PhaseResults {
 public:
  // `run` is the run.json so far, on rank 0.
  PhaseResults(ResultSubject subject, nlohmann::ordered_json run);

  // Collective.
  void add(const JobFacts& facts, const RepetitionRecord& record, const RepetitionPlace& place);
  // Collective. Completes run().
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks);

  [[nodiscard]] std::span<const Event> events() const { return events_; }  // this rank's
  [[nodiscard]] int repetitions() const { return repetitions_; }           // warm-ups included

  // Puts the rates of the counted repetitions so far into run(), and marks the outliers among them.
  // On rank 0.
  void put_rates(const RepetitionPolicy& policy);
  // On rank 0.
  [[nodiscard]] nlohmann::ordered_json& run() { return run_; }
  [[nodiscard]] int counted() const { return static_cast<int>(seconds_.size()); }
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const;
  // Returns the shortest time in which a phase ran, over which clocks are compared. It is infinite
  // if nothing was moved.
  [[nodiscard]] double shortest_span_seconds() const { return shortest_span_; }
  [[nodiscard]] const std::vector<CountedPhase>& counted_phases() const { return counted_phases_; }
  // Returns the rates of the counted repetitions, in their order; empty if the direction has no
  // phase.
  [[nodiscard]] std::vector<double> span_rates(Direction direction) const;

 private:
  struct PhaseHistory {
    explicit PhaseHistory(Direction what) : direction(what) {}

    Direction direction;
    LatencyHistogram latencies;         // of this rank, over the counted repetitions
    std::int64_t node_bytes = 0;        // node leaders: of the last repetition
    double node_io_seconds_max = 0;     // node leaders: over the counted repetitions
    std::vector<double> node_rates;     // node leaders: of every counted repetition
    std::vector<DirectionRates> rates;  // rank 0
    std::vector<TargetFigures>
        targets;  // rank 0: bytes of the last repetition, time of the slowest
    std::vector<std::vector<double>> target_rates;  // rank 0: by target, for every repetition
  };

  void add_phase(const JobFacts& facts, const PhaseRecord& record, const RepetitionPlace& place,
                 PhaseHistory& history, nlohmann::ordered_json& phases);
  void warn_of_outlier(const JobFacts& facts, const RecordFigures& figures, int repetition);
  [[nodiscard]] nlohmann::ordered_json nodes_json(std::span<const NodeReport> nodes) const;
  [[nodiscard]] nlohmann::ordered_json targets_json(std::int64_t ranks) const;
  void say_how_verified(const JobFacts& facts, std::int64_t bytes);

  ResultSubject subject_;
  std::vector<PhaseHistory> phases_;
  std::vector<Event> events_;
  std::int64_t bytes_verified_ = 0;
  std::int64_t trace_step_ = 1;
  int repetitions_ = 0;
  // On rank 0.
  nlohmann::ordered_json run_;
  std::vector<double> seconds_;
  std::vector<CountedPhase> counted_phases_;
  double shortest_span_;
};

}  // namespace weir::bench

// What one configuration measured, from its repetitions' records to its run.json, for workloads
// whose repetition is a phase of writing and a phase of reading.
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

// What a workload says of a configuration beforehand.
struct ResultSubject {
  bool write = true;
  bool read = true;
  // The directories of its files; several: the ranks' files are distributed to them round-robin.
  std::vector<std::string> directories;
  bool sync_each = false;      // every write is durable by itself
  bool stonewalled = false;    // phases have a wall
  bool traced = true;          // the trace is not switched off
  double outlier_seconds = 0;  // 0: no warning
  std::string how_verified;    // empty: as run.json has it already
};

// One phase of one counted repetition, on rank 0.
struct CountedPhase {
  Direction direction = Direction::write;
  int iteration = 0;  // counted repetitions before it
  RecordFigures figures;
};

class PhaseResults {
 public:
  // `run`: run.json so far, on rank 0.
  PhaseResults(ResultSubject subject, nlohmann::ordered_json run);

  // Collective.
  void add(const JobFacts& facts, const RepetitionRecord& record, const RepetitionPlace& place);
  // Collective. Completes run().
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks);

  [[nodiscard]] std::span<const Event> events() const { return events_; }  // this rank's
  [[nodiscard]] int repetitions() const { return repetitions_; }           // warm-ups included

  // Puts the rates of the counted repetitions so far into run(), and which of these are outliers.
  // On rank 0.
  void put_rates(const RepetitionPolicy& policy);
  // On rank 0.
  [[nodiscard]] nlohmann::ordered_json& run() { return run_; }
  [[nodiscard]] int counted() const { return static_cast<int>(seconds_.size()); }
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const;
  // The shortest time in which a phase ran, which is what clocks are compared over; infinite where
  // nothing was moved.
  [[nodiscard]] double shortest_span_seconds() const { return shortest_span_; }
  [[nodiscard]] const std::vector<CountedPhase>& counted_phases() const { return counted_phases_; }
  // Over the counted repetitions, in their order; empty where the direction has no phase.
  [[nodiscard]] std::vector<double> span_rates(Direction direction) const;

 private:
  struct PhaseHistory {
    explicit PhaseHistory(Direction what) : direction(what) {}

    Direction direction;
    LatencyHistogram latencies;                     // this rank's, counted repetitions
    std::int64_t node_bytes = 0;                    // node leaders: of the last repetition
    double node_io_seconds_max = 0;                 // node leaders: over the counted repetitions
    std::vector<double> node_rates;                 // node leaders: of every counted repetition
    std::vector<DirectionRates> rates;              // rank 0
    std::vector<TargetFigures> targets;             // rank 0: bytes of the last, slowest of all
    std::vector<std::vector<double>> target_rates;  // rank 0: by target, of every repetition
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

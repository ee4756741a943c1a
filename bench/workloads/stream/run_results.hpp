// What one configuration measured, from its repetitions' records to its run.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/job.hpp"
#include "measurement/result.hpp"
#include "workloads/stream/execute.hpp"
#include "workloads/stream/figures.hpp"
#include "workloads/stream/ior_table.hpp"

namespace weir::bench::stream {

// What is the same for all configurations of a job.
struct JobFacts {
  const Job& job;
  const CoreSettings& core;
  const Options& options;
  HostTable hosts = {};                 // on rank 0
  ClockOffset offset = {};              // of this rank at the job's start
  std::int64_t epoch_ns = 0;            // the job's start on rank 0's clock
  double memory_rate = 0;               // memory copy by all ranks, bytes per second; on rank 0
  std::string memory_file_system = {};  // its type when the files are kept in memory
};

// One repetition's place in the job. Times are of this process's clock.
struct RepetitionPlace {
  int index = 0;
  bool counted = false;  // not a warm-up
  int order = 0;         // among all repetitions of the job
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
};

class RunResults {
 public:
  // `run`: run.json so far, on rank 0.
  RunResults(Configuration configuration, const Options& options, nlohmann::ordered_json run);

  // Collective.
  void add(const JobFacts& facts, const RepetitionRecord& record, const RepetitionPlace& place);
  // Collective. Completes run().
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks);

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] std::span<const Event> events() const { return events_; }  // this rank's
  [[nodiscard]] int repetitions() const { return repetitions_; }           // warm-ups included

  // On rank 0.
  [[nodiscard]] nlohmann::ordered_json& run() { return run_; }
  [[nodiscard]] int counted() const { return static_cast<int>(seconds_.size()); }
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const;
  // The shortest time in which a phase ran, which is what clocks are compared over; infinite where
  // nothing was moved.
  [[nodiscard]] double shortest_span_seconds() const { return shortest_span_; }
  [[nodiscard]] const std::vector<TableRow>& rows() const { return rows_; }  // counted repetitions

 private:
  struct PhaseHistory {
    explicit PhaseHistory(storage::Direction what) : direction(what) {}

    storage::Direction direction;
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
  void warn_of_outlier(const JobFacts& facts, const StreamFigures& figures, int repetition);
  [[nodiscard]] nlohmann::ordered_json nodes_json(std::span<const NodeReport> nodes) const;
  [[nodiscard]] nlohmann::ordered_json targets_json(std::int64_t ranks) const;
  void say_how_verified(const JobFacts& facts, std::int64_t bytes);

  Configuration configuration_;
  std::vector<PhaseHistory> phases_;
  std::vector<Event> events_;
  std::int64_t bytes_verified_ = 0;
  std::int64_t trace_step_ = 1;
  int repetitions_ = 0;
  // On rank 0.
  nlohmann::ordered_json run_;
  std::vector<double> seconds_;
  std::vector<TableRow> rows_;
  double shortest_span_;
};

}  // namespace weir::bench::stream

// Assembles what one configuration measured, from its repetitions' records to its run.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/cache_verdict.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/job.hpp"
#include "measurement/result.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/table.hpp"

namespace weir::bench::madbench {

// The facts that all configurations of a job share.
struct JobFacts {
  const Job& job;
  const CoreSettings& core;
  Size size;
  HostTable hosts = {};          // on rank 0
  ClockOffset offset = {};       // of this rank at the job's start
  std::int64_t epoch_ns = 0;     // the job's start on rank 0's clock
  double memory_rate = 0;        // memory copy by all ranks, bytes per second; on rank 0
  std::string file_system = {};  // the type of the file system that holds the files
};

// The place of one repetition in the job. Times are on this process's clock.
struct RepetitionPlace {
  int index = 0;
  bool counted = false;  // not a warm-up
  int order = 0;         // among all repetitions of the job
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
};

class RunResults {
 public:
  // `run` is the run.json so far, on rank 0.
  RunResults(Configuration configuration, nlohmann::ordered_json run);

  // Collective.
  void add(const JobFacts& facts, const RepetitionRecord& record, const RepetitionPlace& place);
  // Completes run(). Collective. `sibling` is the SYNC run of the same interface and file type, or
  // null; it is not changed.
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks, const RunResults* sibling);

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] std::span<const Event> events() const { return events_; }  // this rank's
  [[nodiscard]] int repetitions() const { return repetitions_; }           // warm-ups included

  // Puts the rates of the counted repetitions so far into run(), and marks the outliers among them.
  // On rank 0.
  void put_rates(const RepetitionPolicy& policy);
  // On rank 0.
  [[nodiscard]] nlohmann::ordered_json& run() { return run_; }
  [[nodiscard]] int counted() const { return static_cast<int>(seconds_.size()); }
  // Returns whether the headline rates of both directions have converged.
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const;
  // Returns the mean time of an operation, over all ranks, in the counted phase where it is
  // shortest. It is infinite if nothing was moved.
  [[nodiscard]] double shortest_operation_seconds(int ranks) const;
  // Returns the functions' times in the counted repetition with the median time.
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

  [[nodiscard]] nlohmann::ordered_json add_phases(const JobFacts& facts,
                                                  const RepetitionRecord& record, bool counted);
  [[nodiscard]] nlohmann::ordered_json add_functions(const JobFacts& facts,
                                                     const RepetitionRecord& record);
  [[nodiscard]] nlohmann::ordered_json nodes_json(std::span<const NodeReport> nodes) const;
  [[nodiscard]] nlohmann::ordered_json effective_json(std::int64_t bins,
                                                      const RunResults* sibling) const;
  [[nodiscard]] bool asynchronous() const { return configuration_.variant.mode == Mode::async; }

  Configuration configuration_;
  std::vector<PhaseHistory> phases_;
  std::vector<Event> events_;
  std::int64_t bytes_verified_ = 0;
  int repetitions_ = 0;
  // The following members are for rank 0.
  nlohmann::ordered_json run_;
  std::vector<DirectionRates> write_rates_;  // counted repetitions
  std::vector<DirectionRates> read_rates_;
  std::vector<double> seconds_;
  std::vector<std::vector<FunctionTimes>> tables_;
};

}  // namespace weir::bench::madbench

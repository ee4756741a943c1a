// All configurations of one job: their repetitions, interleaved in random order, and their results.
//
// Rounds: in every round each unfinished configuration runs once, in an order drawn anew, so that a
// slow spell of the machine falls on all alike. A configuration is finished when its headline rates
// have converged or --max-repetitions is reached; --time-limit ends all, once every configuration
// has one counted repetition.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/result.hpp"
#include "measurement/run_folder.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/table.hpp"

namespace weir::bench::madbench {

struct SweepInputs {
  const Job& job;
  FailureGuard& guard;
  const CoreSettings& core;
  const JobFolders& folders;
  Size size;
  std::vector<Variant> variants;
  std::string remap;
  double alpha = 0;
  std::vector<nlohmann::ordered_json> runs;  // run.json of each variant so far; on rank 0
  std::vector<std::string> command;
};

class Sweep {
 public:
  Sweep(SweepInputs inputs, Executor& executor);
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  // Collective. Runs everything, writes the results, prints the tables on rank 0. On a failure
  // every rank gets an error, and `failed_rank()` is the lowest rank that has the cause.
  Status run();
  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  // After a failure, on rank 0: writes what was measured until then, still with status "running";
  // FailureGuard::record() sets the status.
  Status save_unfinished(const nlohmann::ordered_json& payload_errors);

 private:
  struct State;

  Status run_round(int round);
  Status run_once(State& state, int round);
  void collect(State& state, const RepetitionRecord& record, int repetition, bool counted,
               std::int64_t started_ns, std::int64_t ended_ns);
  [[nodiscard]] nlohmann::ordered_json collect_phases(State& state, const RepetitionRecord& record,
                                                      bool counted);
  [[nodiscard]] nlohmann::ordered_json collect_functions(State& state,
                                                         const RepetitionRecord& record);
  [[nodiscard]] CacheObservations observe_cache(const PhaseFigures& figures,
                                                const RepetitionRecord& record) const;
  void decide(State& state);
  Status finish_one(State& state, const nlohmann::ordered_json& environment,
                    const nlohmann::ordered_json& clocks);
  [[nodiscard]] nlohmann::ordered_json effective_json(const State& state) const;
  [[nodiscard]] nlohmann::ordered_json clocks_json(const ClockOffset& end) const;
  void report_progress(const State& state, int round, bool warmup) const;
  void print_tables() const;
  [[nodiscard]] double elapsed_seconds() const;

  SweepInputs in_;
  Executor& executor_;
  std::vector<std::unique_ptr<State>> states_;
  HostTable hosts_;
  ClockOffset offset_;         // at the start
  std::int64_t epoch_ns_ = 0;  // the run's start on rank 0's clock
  std::int64_t local_start_ns_ = 0;
  int executed_ = 0;        // repetitions so far, over all configurations
  double memory_rate_ = 0;  // memory copy by all ranks, bytes per second; on rank 0
  std::string memory_file_system_;
  int failed_rank_ = none_failed;
  State* failed_state_ = nullptr;
};

}  // namespace weir::bench::madbench

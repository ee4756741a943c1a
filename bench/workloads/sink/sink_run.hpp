// A configuration of the sink workload in the sweep over all configurations: its capacities and
// efficiency, and its line of the table.
#pragma once

#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/phased_run.hpp"
#include "measurement/series.hpp"
#include "workloads/sink/execute.hpp"

namespace weir::bench::sink {

class SinkRun final : public PhasedRun {
 public:
  // All references must outlive the run. `run` is the run.json so far, on rank 0.
  SinkRun(Configuration configuration, const Options& options, Executor& executor,
          std::string directory, nlohmann::ordered_json run);

  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }

  // The following functions are for rank 0, about the counted repetitions.
  [[nodiscard]] const Variant& variant() const { return configuration_.variant; }
  [[nodiscard]] const Series& source() const { return source_; }        // capacity
  [[nodiscard]] const Series& receiving() const { return receiving_; }  // empty: unknown
  [[nodiscard]] Series measured() const;
  [[nodiscard]] const Series& message_seconds() const { return message_seconds_; }
  [[nodiscard]] double efficiency() const;  // a median

 private:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;

  Configuration configuration_;
  const Options& options_;
  Executor& executor_;
  SinkRecord latest_;
  // On rank 0.
  Series source_{Unit::bytes_per_second};
  Series receiving_{Unit::bytes_per_second};
  Series message_seconds_{Unit::seconds};
  Series stager_wait_{Unit::seconds};
  std::vector<double> efficiencies_;
  std::int64_t receivers_ = 0;
  bool accounted_ = false;
};

// Returns the table that is printed at the end. On rank 0.
[[nodiscard]] std::string table(const std::vector<const SinkRun*>& runs);

}  // namespace weir::bench::sink

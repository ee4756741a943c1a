// A configuration of metadata in the sweep over all configurations: from its repetitions' records
// to its run.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "measurement/series.hpp"
#include "measurement/swept_run.hpp"
#include "workloads/metadata/execute.hpp"

namespace weir::bench::metadata {

// The counted repetitions of an action, over all ranks. On rank 0.
struct ActionHistory {
  Measured measured;
  std::int64_t operations = 0;  // in the last repetition
  Rates rates = Rates::of_operations();
  // The times over which the rates "barrier" and "span" are: from the first barrier to the end of
  // the last, and from the first rank's start to the last rank's end.
  Series barrier_seconds{Unit::seconds};
  Series span_seconds{Unit::seconds};
};

class MetadataRun final : public SweptRun {
 public:
  // The executor and the options must outlive the run. `run` is the run.json so far, on rank 0.
  MetadataRun(Variant variant, const Options& options, Executor& executor,
              nlohmann::ordered_json run);

  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }

  [[nodiscard]] const Variant& variant() const { return variant_; }
  [[nodiscard]] const std::vector<ActionHistory>& history() const { return history_; }

 private:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;
  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const override;
  [[nodiscard]] std::string how_verified() const override;
  // `phase` is the number of the phase in a repetition. Collective.
  nlohmann::ordered_json phase_figures(const JobFacts& facts, std::size_t phase, bool counted);

  Variant variant_;
  Executor& executor_;
  RepetitionRecord record_;  // of the latest repeat()
  std::vector<ActionHistory> history_;
};

}  // namespace weir::bench::metadata

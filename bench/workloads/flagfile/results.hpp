// A configuration of the workload flagfile in the sweep over all configurations: from its
// repetitions' records to its run.json. The results of the others and of the pollers are two
// actions, `stat` and `poll`, as in the workload metadata.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "measurement/series.hpp"
#include "measurement/swept_run.hpp"
#include "workloads/flagfile/execute.hpp"

namespace weir::bench::flagfile {

class FlagRun final : public SweptRun {
 public:
  // The executor and the options must outlive the run. `run` is the run.json so far, on rank 0.
  FlagRun(Variant variant, const Options& options, Executor& executor, nlohmann::ordered_json run);

  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }

  [[nodiscard]] std::int64_t pollers() const { return variant_.pollers; }
  // The following functions are for rank 0.
  [[nodiscard]] const Rates& others() const { return rates_[0]; }
  [[nodiscard]] const Rates& polls() const { return rates_[1]; }
  // From setting the flag until the last poller saw it.
  [[nodiscard]] const Series& notices() const { return notices_; }

 private:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;
  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const override;
  [[nodiscard]] std::string how_verified() const override;
  // `part` is the number of the activity. Collective.
  nlohmann::ordered_json part_figures(const JobFacts& facts, std::size_t part, bool counted);
  void add_notice(const JobFacts& facts, bool counted);

  Variant variant_;
  const Options& options_;
  Executor& executor_;
  RankRecord record_;  // of the latest repeat()
  // By activity: of the others, and of the pollers if there are any.
  std::array<Rates, 2> rates_{Rates::of_operations(), Rates::of_operations()};
  Series notices_{Unit::seconds};
};

}  // namespace weir::bench::flagfile

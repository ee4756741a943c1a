// A configuration in the sweep over all configurations: from its repetitions' records to its
// run.json. Each kind of files is a phase. The rate of a phase over the time that the program was
// blocked is its observed throughput; the rate over the time until its files were durable is its
// storage throughput.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/series.hpp"
#include "measurement/swept_run.hpp"
#include "workloads/output/execute.hpp"

namespace weir::bench::output {

// Returns the events such that those of one function do not overlap: a file that was begun before
// the one before it was durable begins when that was. The sum of their durations is then the time
// during which some file of the function was not durable yet.
[[nodiscard]] std::vector<Event> without_overlap(std::vector<Event> events);

class OutputRun final : public SweptRun {
 public:
  // All but the configuration and `run` must outlive the run. `run` is the run.json so far, on
  // rank 0.
  OutputRun(Configuration configuration, const Options& options, const Content& content,
            Executor& executor, nlohmann::ordered_json run);

  Status repeat(std::int32_t repetition) override;
  Status clear() override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }
  [[nodiscard]] std::span<const Event> events() const override { return events_; }

  // The following functions are for rank 0.
  struct KindFigures {
    Kind kind = {};
    Series observed{Unit::bytes_per_second};
    Series storage{Unit::bytes_per_second};
    std::vector<double> hidden = {};    // shares of the time to storage
    Series stager_wait{Unit::seconds};  // of the slowest rank, in a repetition; empty: not staged
    [[nodiscard]] double hidden_median() const;
  };
  [[nodiscard]] const std::vector<KindFigures>& kinds() const { return kinds_; }
  [[nodiscard]] const Configuration& configuration() const { return configuration_; }

 private:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;
  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const override;
  [[nodiscard]] std::string how_verified() const override;
  [[nodiscard]] std::string shortest_part() const override { return "file"; }

  Configuration configuration_;
  const Options& options_;
  const Content& content_;
  Executor& executor_;
  OutputRecord record_;  // of the latest repeat()
  std::vector<Event> events_;
  // On rank 0, by phase.
  std::vector<KindFigures> kinds_;
  Rates rates_ = Rates::of_bytes();
  Series work_{Unit::seconds};
};

// Returns the table that is printed at the end. On rank 0.
[[nodiscard]] std::string table(const Content& content, const std::vector<const OutputRun*>& runs);

}  // namespace weir::bench::output

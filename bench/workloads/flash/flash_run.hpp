// A configuration of flash in the sweep over all configurations: from its repetitions' records to
// its run.json. Checkpoints and plot files are two phases. The rate of a phase over the time that
// the program was blocked is its observed throughput; the rate over the time until its files were
// durable is its storage throughput.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/series.hpp"
#include "measurement/swept_run.hpp"
#include "workloads/flash/execute.hpp"

namespace weir::bench::flash {

// Returns the events such that those of one function do not overlap: a file that was begun before
// the one before it was durable begins when that was. The sum of their durations is then the time
// during which some file of the function was not durable yet.
[[nodiscard]] std::vector<Event> without_overlap(std::vector<Event> events);

class FlashRun final : public SweptRun {
 public:
  // The executor and the options must outlive the run. `run` is the run.json so far, on rank 0.
  FlashRun(Configuration configuration, const Options& options, Executor& executor,
           nlohmann::ordered_json run);

  Status repeat(std::int32_t repetition) override;
  Status clear() override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }
  [[nodiscard]] std::span<const Event> events() const override { return events_; }

  // The following functions are for rank 0.
  struct StreamFigures {
    Stream stream = Stream::checkpoint;
    Series observed{Unit::bytes_per_second};
    Series storage{Unit::bytes_per_second};
    std::vector<double> hidden = {};  // shares of the time to storage
    [[nodiscard]] double hidden_median() const;
  };
  [[nodiscard]] const std::vector<StreamFigures>& streams() const { return streams_; }
  [[nodiscard]] const Configuration& configuration() const { return configuration_; }

 private:
  nlohmann::ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;
  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const override;
  [[nodiscard]] std::string how_verified() const override;
  [[nodiscard]] std::string shortest_part() const override { return "file"; }

  Configuration configuration_;
  const Options& options_;
  Executor& executor_;
  FlashRecord record_;  // of the latest repeat()
  std::vector<Event> events_;
  // On rank 0, by phase.
  std::vector<StreamFigures> streams_;
  Rates rates_ = Rates::of_bytes();
  Series work_{Unit::seconds};
};

// Returns the table that is printed at the end. On rank 0.
[[nodiscard]] std::string table(const Options& options, const Deal& deal,
                                const std::vector<const FlashRun*>& runs);

}  // namespace weir::bench::flash

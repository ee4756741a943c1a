// One configuration of a job, as the sweep over all configurations (sweep.hpp) sees it: from its
// repetitions to its run.json. A workload derives from it and carries out a repetition.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/activity.hpp"
#include "measurement/cache_verdict.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/events.hpp"
#include "measurement/job.hpp"
#include "measurement/repetition.hpp"
#include "measurement/result.hpp"

namespace weir::bench {

// The facts that all configurations of a job share.
struct JobFacts {
  const Job& job;
  const CoreSettings& core;
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

// Says what a rank observed of where the bytes of a phase came from or went to.
struct CacheEvidence {
  std::int64_t device_bytes = 0;  // moved by the node's devices; on node leaders
  bool device_known = false;
  double resident_sum = 0;  // sum of the observed shares of data in the page cache before reading
  std::int64_t resident_count = 0;
  bool durable = false;  // what was written has reached storage when the phase ends
};
// Combines the evidence of all ranks. Collective; the result is on rank 0.
[[nodiscard]] CacheState judge_cache(const JobFacts& facts, const PhaseFigures& figures,
                                     const CacheEvidence& mine);

class SweptRun {
 public:
  // `run` is the run.json so far, on rank 0.
  SweptRun(std::string label, std::string slug, nlohmann::ordered_json run);
  SweptRun(const SweptRun&) = delete;
  SweptRun& operator=(const SweptRun&) = delete;
  virtual ~SweptRun();

  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] const std::string& slug() const { return slug_; }

  // Carries out one repetition. Collective: it fails on every rank if it fails on one, and
  // `failed_rank()` is then the lowest rank that has the cause.
  virtual Status repeat(std::int32_t repetition) = 0;
  [[nodiscard]] virtual int failed_rank() const = 0;
  // Removes what repeat() left behind, outside the repetition's time. Collective; fails like
  // repeat().
  virtual Status clear() { return {}; }
  // Adds the repetition that repeat() carried out to run(). Collective.
  void add(const JobFacts& facts, const RepetitionPlace& place);
  // Completes run(). Collective.
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks);

  [[nodiscard]] virtual std::span<const Event> events() const { return {}; }  // this rank's
  [[nodiscard]] int repetitions() const { return repetitions_; }              // warm-ups included

  // The following functions are for rank 0.
  [[nodiscard]] nlohmann::ordered_json& run() { return *run_; }  // run.json so far
  [[nodiscard]] const nlohmann::ordered_json& run() const { return *run_; }
  // Puts what the counted repetitions so far have shown into run(), and marks the outliers among
  // them. Figures that need all ranks together are left out before finish().
  void put_rates(const RepetitionPolicy& policy);
  [[nodiscard]] int counted() const { return static_cast<int>(seconds_.size()); }  // repetitions
  // Returns the number of counted repetitions that the run's figures need at least. A job that
  // --time-limit ends earlier warns of it.
  [[nodiscard]] virtual int least(const RepetitionPolicy& policy) const { return policy.minimum; }
  // Returns whether no more repetitions are needed.
  [[nodiscard]] virtual bool settled(const RepetitionPolicy& policy) const;
  // Returns the shortest time over which clocks are compared; infinite if nothing was moved.
  [[nodiscard]] double shortest_seconds() const { return shortest_seconds_; }

 protected:
  // Computes the figures of the latest repetition and adds them to `activities_`. Returns, on
  // rank 0, the fields of the repetition's record that are the workload's own. Collective.
  virtual nlohmann::ordered_json figures(const JobFacts& facts, bool counted) = 0;
  // Puts the rates of the counted repetitions, of which there is at least one, into run(). On
  // rank 0.
  virtual void put_series(const RepetitionPolicy& policy) = 0;
  // Puts the results into run() that exist at the end only. Collective.
  virtual void put_last(const JobFacts& /*facts*/) {}
  // Returns whether the rates are known accurately enough. On rank 0.
  [[nodiscard]] virtual bool converged(const RepetitionPolicy& policy) const = 0;
  // Returns how the data were verified; an empty text leaves what run.json says.
  [[nodiscard]] virtual std::string how_verified() const { return ""; }
  // Returns what shortest_seconds() is the time of, for the warning that clocks do not agree well
  // enough; empty if there is no such warning.
  [[nodiscard]] virtual std::string shortest_part() const { return ""; }

  // Considers a counted time over which clocks are compared; 0 is none.
  void compare_clocks_over(double seconds);
  // Returns the time of each counted repetition. On rank 0.
  [[nodiscard]] const std::vector<double>& seconds() const { return seconds_; }

  std::vector<Activity> activities_;
  std::vector<NodeReport> nodes_;  // what gather_shares() returns of them; on rank 0, at the end
  // The following members are this rank's.
  std::int64_t bytes_verified_ = 0;
  std::int64_t items_verified_ = 0;
  bool verifies_items_ = false;

 private:
  void put_nodes();

  std::string label_;
  std::string slug_;
  int repetitions_ = 0;
  // On rank 0.
  std::unique_ptr<nlohmann::ordered_json> run_;
  std::vector<double> seconds_;  // of each counted repetition
  double shortest_seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace weir::bench

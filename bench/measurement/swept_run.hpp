// One configuration of a job, as the sweep over all configurations (sweep.hpp) sees it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "common/status.hpp"
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

class SweptRun {
 public:
  SweptRun() = default;
  SweptRun(const SweptRun&) = delete;
  SweptRun& operator=(const SweptRun&) = delete;
  virtual ~SweptRun() = default;

  [[nodiscard]] virtual const std::string& label() const = 0;
  [[nodiscard]] virtual const std::string& slug() const = 0;

  // Carries out one repetition. Collective: it fails on every rank if it fails on one, and
  // `failed_rank()` is then the lowest rank that has the cause.
  virtual Status repeat(std::int32_t repetition) = 0;
  [[nodiscard]] virtual int failed_rank() const = 0;
  // Removes what repeat() left behind, outside the repetition's time. Collective; fails like
  // repeat().
  virtual Status clear() { return {}; }
  // Computes the figures of the repetition that repeat() carried out. Collective.
  virtual void add(const JobFacts& facts, const RepetitionPlace& place) = 0;
  // Completes run(). Collective.
  virtual void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
                      const nlohmann::ordered_json& clocks) = 0;

  [[nodiscard]] virtual std::span<const Event> events() const = 0;  // this rank's
  [[nodiscard]] virtual int repetitions() const = 0;                // warm-ups included

  // The following functions are for rank 0.
  virtual nlohmann::ordered_json& run() = 0;  // run.json so far
  // Puts the rates of the counted repetitions so far into run(), for a job that does not reach its
  // end. Figures that need all ranks together are left out.
  virtual void put_rates(const RepetitionPolicy& /*policy*/) {}
  [[nodiscard]] virtual int counted() const = 0;  // repetitions
  // Returns the number of counted repetitions that the run's figures need at least. A job that
  // --time-limit ends earlier warns of it.
  [[nodiscard]] virtual int least(const RepetitionPolicy& policy) const { return policy.minimum; }
  [[nodiscard]] virtual bool settled(const RepetitionPolicy& policy) const = 0;
  // Returns the shortest time over which clocks are compared; infinite if nothing was moved.
  [[nodiscard]] virtual double shortest_seconds() const = 0;
};

}  // namespace weir::bench

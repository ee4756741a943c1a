// Runs one repetition of one configuration, with every step between two barriers, and the counted
// pass.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/common_start.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "workloads/open/counted_steps.hpp"
#include "workloads/open/own_calls.hpp"
#include "workloads/open/parameters.hpp"
#include "workloads/open/participants.hpp"
#include "workloads/open/step.hpp"

namespace weir::bench::opening {

// One step on this rank, on its own clock.
struct StepTimes {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct RepetitionTimes {
  std::array<StepTimes, step_count> steps;
  std::int64_t files_verified = 0;
  std::int64_t bytes_verified = 0;
};

// The result of the counted pass, on rank 0; empty if calls were not counted.
struct CountedSteps {
  std::array<std::vector<CountedStep>, step_count> by_ranks;  // by step, then by number of ranks
  // By step. Only for an interface that distinguishes nodes, in a job with one node, whose ranks
  // are then treated as two nodes.
  std::vector<NodeCounts> by_nodes;
};

class Executor {
 public:
  // `root` is the folder of the files, which exists and is empty. All arguments must outlive the
  // executor.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Options& options,
           const OwnCalls& calls, std::string root, std::uint64_t seed);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Each of these functions is collective over the job and fails on every rank if it fails on one:
  // with the rank's own error where it happened, on other ranks with ErrorCode::peer.
  // `failed_rank()` is then the failed rank. They leave nothing in `root` unless they fail.

  // Runs all ranks, timed. The first run of a variant also creates what an interface needs besides
  // its files.
  Result<RepetitionTimes> run(const Variant& variant);
  // Counts the calls of the steps by 1, 2, 4 and so on up to all ranks; before each count, one
  // uncounted repetition is run. Nothing is timed. The counts are on rank 0. Calls must be
  // countable.
  Result<CountedSteps> count(const Variant& variant);
  // Call it after all repetitions.
  Status finish();

  [[nodiscard]] int failed_rank() const { return failed_rank_; }

 private:
  struct Kept;     // of a variant: its participants, its session and its file
  struct Counter;  // of a repetition that is counted

  Result<std::unique_ptr<Kept>> keep(const Variant& variant, MPI_Comm all,
                                     std::int64_t ranks_per_node);
  Status repeat(Kept& kept, RepetitionTimes* times, Counter* counter);
  Status carry_out(Kept& kept, Step step, StepTimes* times);
  Status verify(Kept& kept, Step step, RepetitionTimes* times);
  // Counts on `ranks` ranks. The counts are on rank 0 alone.
  Result<std::array<CountedStep, step_count>> count_on(const Variant& variant, std::int64_t ranks,
                                                       std::int64_t ranks_per_node);
  Result<std::array<CountedStep, step_count>> count_some(const Variant& variant, MPI_Comm all,
                                                         std::int64_t ranks_per_node);
  Status meet(MPI_Comm all, Status mine);
  Status start_together(MPI_Comm all);
  // Collective over the job.
  Status compare_clocks();
  // Returns what a rank reports of itself at a barrier.
  [[nodiscard]] int failed_of(const Status& mine) const;

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Options& options_;
  const OwnCalls& calls_;
  std::string root_;
  std::uint64_t seed_;
  std::int64_t repetition_ = 0;  // number of repetitions of all variants
  std::vector<std::unique_ptr<Kept>> kept_;
  std::vector<std::uint64_t> piece_;  // what this rank writes
  std::vector<std::uint64_t> found_;  // what this rank has read
  std::string path_;                  // of this repetition
  int failed_rank_ = none_failed;
  CommonStart common_start_;
};

}  // namespace weir::bench::opening

// One repetition of one configuration: every step between two barriers. And the counted pass.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/common_start.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "workloads/open/counted_steps.hpp"
#include "workloads/open/own_calls.hpp"
#include "workloads/open/shared_file.hpp"
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

// What the counted pass found, on rank 0; empty where calls were not counted.
struct CountedSteps {
  std::array<std::vector<CountedStep>, step_count> by_ranks;  // by step, and number of ranks
  // By step: of an interface that knows nodes, where the job has one, whose ranks were then taken
  // for two.
  std::vector<NodeCounts> by_nodes;
};

class Executor {
 public:
  // `root`: the folder of the files, which exists and is empty. All arguments outlive the executor.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Options& options,
           const OwnCalls& calls, std::string root, std::uint64_t seed);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Each is collective over the job and fails on every rank when it fails on one: with the rank's
  // own error where it happened, elsewhere with ErrorCode::peer; `failed_rank()` says where. Leaves
  // nothing in `root` unless it fails.

  // All ranks, timed. What an interface needs besides its files is made at a variant's first.
  Result<RepetitionTimes> run(const Variant& variant);
  // Counts the calls of the steps by 1, 2, 4 and so on to all ranks, each preceded by one that is
  // not counted. Nothing is timed. The counts are on rank 0. Calls can be counted.
  Result<CountedSteps> count(const Variant& variant);
  // At the end of all.
  Status finish();

  [[nodiscard]] int failed_rank() const { return failed_rank_; }

 private:
  struct Kept;     // of a variant: who takes part, and the interface
  struct Counter;  // of a repetition that is counted

  Result<std::unique_ptr<Kept>> keep(const Variant& variant, MPI_Comm all,
                                     std::int64_t ranks_per_node);
  Status repeat(Kept& kept, RepetitionTimes* times, Counter* counter);
  Status carry_out(Kept& kept, Step step, StepTimes* times);
  Status verify(Kept& kept, Step step, RepetitionTimes* times);
  Status remove(Kept& kept);
  // Counts on `ranks` ranks; the counts are on rank 0 alone.
  Result<std::array<CountedStep, step_count>> count_on(const Variant& variant, std::int64_t ranks,
                                                       std::int64_t ranks_per_node);
  Result<std::array<CountedStep, step_count>> count_some(const Variant& variant, MPI_Comm all,
                                                         std::int64_t ranks_per_node);
  Status meet(MPI_Comm all, Status mine);
  Status start_together(MPI_Comm all);
  // Collective over the job.
  Status compare_clocks();
  // What a rank tells of itself at a barrier.
  [[nodiscard]] int failed_of(const Status& mine) const;

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Options& options_;
  const OwnCalls& calls_;
  std::string root_;
  std::uint64_t seed_;
  std::int64_t repetition_ = 0;  // of all variants
  std::vector<std::unique_ptr<Kept>> kept_;
  std::vector<std::uint64_t> piece_;  // what this rank writes
  std::vector<std::uint64_t> found_;  // what it read
  std::string path_;                  // of this repetition
  int failed_rank_ = none_failed;
  CommonStart common_start_;
};

}  // namespace weir::bench::opening

// Carries out one repetition of one configuration: a work's functions on real files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/events.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/payload.hpp"
#include "measurement/phase_record.hpp"
#include "workloads/madbench/configuration.hpp"
#include "workloads/madbench/schedule.hpp"
#include "workloads/madbench/turn.hpp"
#include "workloads/madbench/work.hpp"

namespace weir::bench::madbench {

// Says what one function cost this rank.
struct FunctionCost {
  Function function = Function::S;
  std::int64_t busy_work_ns = 0;
  std::int64_t read_ns = 0;   // in the foreground
  std::int64_t write_ns = 0;  // in the foreground, including the durable sync
  std::int64_t total_ns = 0;  // without the payload
  // Generating and checking payload, and waiting for other ranks that do so.
  std::int64_t payload_ns = 0;
  std::int64_t device_bytes_read = 0;  // by the node's device; on node leaders
  std::int64_t device_bytes_written = 0;
  bool device_known = false;
  double resident_sum = 0;  // sum over the matrices of the resident fraction before the function
  std::int64_t resident_count = 0;
};

struct RepetitionRecord {
  std::vector<Event> events;
  std::vector<FunctionCost> functions;
  std::int64_t bytes_verified = 0;
};

// Returns the rank whose data `rank` moves in a function: the rank itself in S,
// and with
// --rank-shift N the one that is N ranks further in W, 2 N in C.
[[nodiscard]] std::int64_t owner_of(Function function, std::int64_t rank, std::int64_t rank_shift,
                                    std::int64_t ranks);

class Executor {
 public:
  // `work` must outlive the executor.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Size& size,
           Work& work);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Runs one repetition. Collective. Leaves the data files behind (see remove_files()). Fails on
  // every rank if it fails on one: with the rank's own error where it happened, on other ranks with
  // ErrorCode::peer, and `failed_rank()` is then the failed rank.
  Result<RepetitionRecord> run(const Configuration& configuration, std::int32_t repetition);

  // Removes the files that run() wrote. Collective; fails like run().
  Status remove_files(const Configuration& configuration);

  [[nodiscard]] const Work& work() const { return work_; }
  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  [[nodiscard]] const std::vector<PayloadFault>& payload_faults() const { return faults_; }

 private:
  struct FunctionRun;

  Status run_function(const Configuration& configuration, Function function,
                      std::int32_t repetition, RepetitionRecord& record);
  [[nodiscard]] Status create_files(const Configuration& configuration) const;
  [[nodiscard]] Status remove_own_file(const Configuration& configuration) const;
  Status open_file(FunctionRun& run);
  Status close_file(FunctionRun& run);
  void sample_residency(FunctionRun& run) const;
  Status run_steps(FunctionRun& run);
  Status take(FunctionRun& run, const Step& step);
  Status compute(FunctionRun& run, const Step& step);
  Status begin_write(FunctionRun& run, const Step& step);
  Status end_write(FunctionRun& run, const Step& step);
  Status sync_separately(FunctionRun& run, const Step& step);
  void start_read(FunctionRun& run, const Step& step);
  Status end_read(FunctionRun& run, const Step& step);
  Status check(FunctionRun& run, const Step& step);
  [[nodiscard]] Share share_of(const FunctionRun& run, GangLevel level, const Step& step) const;
  void record_transfer(FunctionRun& run, Operation operation, const Step& step,
                       const Extent& extent, const TurnTiming& timing, std::int64_t wait_ns);
  void progress();

  // A barrier over `communicator` at which failures become known (job.hpp). After a failure
  // anywhere, every rank of the job takes part in one last agreement over the world, and in none
  // after it.
  Status meet(MPI_Comm communicator, Status mine, std::int64_t* wait_ns);
  [[nodiscard]] MPI_Comm communicator_of(GangLevel level) const;
  [[nodiscard]] std::int64_t transfer_bytes(std::int64_t share) const;

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  Size size_;
  Work& work_;
  MPI_Comm gang_ = MPI_COMM_NULL;
  int gang_index_ = 0;
  Token read_token_;
  Token write_token_;
  Turn read_turn_;
  Turn write_turn_;
  int failed_rank_ = none_failed;
  std::vector<PayloadFault> faults_;
};

}  // namespace weir::bench::madbench

// Replays the calls of a record through one of the interfaces.
//
// The protocol of one repetition, on every rank:
//   1. Untimed: make the files and bytes that must exist beforehand (needs.hpp). Meet.
//   2. Make the calls of this rank's records, in their order. Before each, do busy work, or sleep,
//      for the time that the program took between its calls, scaled; the payload is filled, and
//      what was read is compared, within this time. Calls are timed alone. Close what is still
//      open. Meet.
//   3. Untimed: read all that was written and compare every byte. Meet. Remove the files. Meet.
// A rank whose call failed goes on to the next meeting and reports the failure there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"
#include "workloads/replay/call_memory.hpp"
#include "workloads/replay/needs.hpp"
#include "workloads/replay/open_files.hpp"
#include "workloads/replay/record.hpp"

namespace weir::bench::replay {

// A configuration as all ranks run it.
struct Configuration {
  const Interface* api = nullptr;
  std::uint64_t payload_seed = 0;
};

// Says which ranks of a record a rank replays, and which of several copies of the program it
// belongs to.
struct Part {
  std::vector<std::int64_t> recorded_ranks;
  std::int64_t copy = 0;
};
// With fewer ranks than were recorded, a rank replays several, one after the other: r, r + ranks
// and so on. With more, the program runs several times side by side, each copy on files of its own.
[[nodiscard]] Part part_of(std::int64_t rank, std::int64_t ranks, std::int64_t recorded);

class Executor {
 public:
  struct Work {
    const Record& record;  // with the lines of the ranks in `part`
    Part part;
    double time_scale = 1;
    bool sleeps = false;  // between calls, instead of busy work
    bool writes = false;  // any rank does
    bool reads = false;
    bool together = false;  // some configuration makes collective calls as such
    std::string folder;     // of the files, which exists
  };
  // All arguments, and the record, must outlive the executor.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, Work work);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Each of these functions is collective and fails on every rank if it fails on one: with the
  // rank's own error where it happened, on other ranks with ErrorCode::peer. `failed_rank()` is
  // then the failed rank.
  Status begin();
  Result<RepetitionRecord> run(const Configuration& configuration, std::int32_t repetition);
  // Ends what the interface keeps between files; call it if all repetitions succeeded.
  Status finish();

  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  [[nodiscard]] const std::vector<PayloadFault>& payload_faults() const { return faults_; }

  // Returns the memory that a rank needs at most for these sums of a recorded rank.
  [[nodiscard]] static std::int64_t memory_bytes(const RankSums& sums);

 private:
  struct Replay;
  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  [[nodiscard]] const std::string& path_of(std::int64_t file);
  [[nodiscard]] PayloadStream stream_of(const Replay& replay, std::int64_t file) const;
  Result<std::unique_ptr<File>> open(const std::string& path, bool write, bool together = false);
  Result<std::unique_ptr<Session>> session_of(const Configuration& configuration, bool together);
  Status open_session(const Configuration& configuration);
  Status check_order();
  Status prepare(const Replay& replay);
  void leave_out_pauses(std::int64_t start_ns, PhaseRecord* phase) const;
  Status replay_all(Replay& replay);
  Status make(Replay& replay, const ReplayedCall& call);
  Status open_file(Replay& replay, const ReplayedCall& call);
  Status close_file(Replay& replay, std::int64_t file);
  Status move(Replay& replay, const ReplayedCall& call);
  Result<OpenFile*> file_for(Replay& replay, std::int64_t file, bool write);
  Result<File*> own_file(Replay& replay, OpenFile& opened, std::int64_t file);
  Status sync_file(Replay& replay, std::int64_t file);
  Status sync_opened(Replay& replay, OpenFile& opened, std::int64_t file);
  Status truncate_file(Replay& replay, const ReplayedCall& call);
  Status close_all(Replay& replay);
  void wait(std::int64_t until_ns);
  // Moves bytes of a file without timing: in pieces that fit the buffer.
  Status move_range(const Replay& replay, File& file, std::int64_t number, Direction direction,
                    std::int64_t begin, std::int64_t end);
  Status compared(const Replay& replay, std::int64_t file, std::int64_t bytes,
                  const std::vector<PayloadMismatch>& mismatches);
  [[nodiscard]] std::int64_t end_of(std::int64_t file) const;
  Status verify(Replay& replay);
  Status remove_files();

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  Work work_;
  Needs needs_;
  std::vector<const RankRecord*> records_;
  std::map<std::int64_t, std::string> paths_;
  std::int64_t calls_ = 0;
  CallMemory memory_;
  const Interface* session_of_ = nullptr;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> together_session_;  // null: no calls are made together
  // The ranks of this copy of the program. MPI_Finalize frees it: after a failure, the other ranks
  // may be anywhere in the code.
  MPI_Comm copy_ = MPI_COMM_NULL;
  double work_value_ = 0;  // so that the busy work is not left out
  int failed_rank_ = none_failed;
  std::vector<PayloadFault> faults_;
};

}  // namespace weir::bench::replay

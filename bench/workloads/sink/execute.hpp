// Carries out one repetition of one configuration: every rank sends its message many times.
//
// The protocol of one repetition, on every rank; the ranks meet between all steps (meeting.hpp):
//   1. Source capacity: all ranks copy the message in their own memory, at the same time.
//   2. Untimed: open the file.
//   3. Timed: send the message again and again. The ranks do not meet in between; collective calls
//      hold them together. With a stager, this ends when the stager has dropped all messages.
//   4. Untimed: compare the bytes that the route says it took with those that were sent; close.
//   5. Receiving capacity: as many ranks as received copy the message, at the same time.
//   6. Untimed, unless the user does without: send one message the same way into a file, or take
//      the file that was overwritten; read it back, and compare every byte.
// A rank whose operation failed goes on to the next meeting and reports the failure there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "interfaces/element_payload.hpp"
#include "interfaces/interface.hpp"
#include "interfaces/own_stagers.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/ring.hpp"
#include "workloads/sink/parameters.hpp"

namespace weir::bench::sink {

// A configuration as all ranks run it.
struct Configuration {
  Variant variant;
  std::string path;  // of its file
  std::uint64_t payload_seed = 0;
};

struct SinkRecord {
  RepetitionRecord repetition;
  double source_seconds = 0;        // of a copy of the message by this rank, while all ranks copied
  double receiving_seconds = 0;     // of one while only the receivers copied; 0: this rank is none
  std::int64_t receivers = 0;       // of all nodes; 0: unknown, or nobody receives by copying
  bool accounted = false;           // the route counts the bytes that it took
  std::int64_t stager_wait_ns = 0;  // of the time of the messages
};

class Executor {
 public:
  // All arguments must outlive the executor.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Options& options);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Each of these functions is collective and fails on every rank if it fails on one: with the
  // rank's own error where it happened, on other ranks with ErrorCode::peer. `failed_rank()` is
  // then the failed rank.

  // Allocates the memory for messages of these configurations.
  Status begin(const std::vector<Variant>& variants);
  Result<SinkRecord> run(const Configuration& configuration, std::int32_t repetition);
  // Ends what interfaces keep between files, and the stagers; call it if all repetitions succeeded.
  Status close();

  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  [[nodiscard]] const std::vector<PayloadFault>& payload_faults() const { return faults_; }

  // Returns the memory that a rank needs at most.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t message_bytes);

 private:
  // Says whether what reaches the end of the route is kept there.
  enum class End { drops, keeps };
  struct Turn {
    const Configuration& configuration;
    std::int32_t repetition;
    const Part& part;
    const std::vector<array::StridedCopy>& runs;

    [[nodiscard]] std::int64_t bytes() const { return part.asked_bytes(); }
  };
  using SessionKey = std::pair<std::string, End>;
  using StagersKey = std::pair<std::string, End>;  // with Variant::stagers_slug()

  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  Status need_stagers(const Configuration& configuration, End end);
  // Starts them. Rank 0 makes the folder of a service.
  Status start(OwnStagers& stagers, const Configuration& configuration, End end);
  Result<Session*> session_of(const Variant& variant, End end);
  Result<std::unique_ptr<File>> open(const Turn& turn, End end, Direction direction);
  // Returns the time that a copy of the message takes this rank, of those that copy with it.
  Result<double> copy_seconds(const Turn& turn, bool takes_part);
  Status send(const Turn& turn, SinkRecord& record);
  Status send_all(const Turn& turn, File& file, const Session& session, SinkRecord& record,
                  std::int64_t* stored);
  Status account(const Turn& turn, std::int64_t stored, std::int64_t counted, SinkRecord& record);
  [[nodiscard]] bool receives(std::int64_t receivers) const;
  Status check(const Turn& turn, SinkRecord& record);
  // Carries out one transfer of the message from opening a file to closing it.
  Status move_once(const Turn& turn, Direction direction);
  Status remove_file(const Configuration& configuration);
  [[nodiscard]] ElementPayload payload(const Turn& turn) const;

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Options& options_;
  Ring memory_;  // the message, and a copy of it
  std::map<StagersKey, OwnStagers> stagers_;
  std::vector<std::string> stagers_folders_;  // on rank 0
  std::map<SessionKey, std::unique_ptr<Session>> sessions_;
  int failed_rank_ = none_failed;
  std::vector<PayloadFault> faults_;
};

}  // namespace weir::bench::sink

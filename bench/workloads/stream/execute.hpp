// Runs one repetition of one configuration: writing, reading, and untimed checks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/events.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/ring.hpp"
#include "workloads/stream/files.hpp"
#include "workloads/stream/parameters.hpp"
#include "workloads/stream/stamped_payload.hpp"

namespace weir::bench::stream {

// A configuration as all ranks run it.
struct Configuration {
  Variant variant;
  Layout layout;
  FileNames files;
  std::uint64_t payload_seed = 0;
};

class Executor {
 public:
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Options& options,
           TestFiles job_folders);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Runs one repetition. Collective. Fails on every rank if it fails on one: with the rank's own
  // error where it happened, on other ranks with ErrorCode::peer, and `failed_rank()` is then the
  // failed rank. Removes its files unless they are to be kept.
  Result<RepetitionRecord> run(const Configuration& configuration, std::int32_t repetition);

  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  [[nodiscard]] const std::vector<PayloadFault>& payload_faults() const { return faults_; }

 private:
  struct Phase;

  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  Status prepare_repetition(const Configuration& configuration, std::int32_t repetition);
  Status make_way(const Configuration& configuration, std::int32_t repetition) const;
  Status remove_files(const Configuration& configuration, std::int32_t repetition) const;
  Status run_phase(const Configuration& configuration, std::int32_t repetition, Direction direction,
                   std::int64_t owner, RepetitionRecord& record);
  // Opens a file of the prepared configuration for the data of `owner`.
  Result<std::unique_ptr<File>> open(const Configuration& configuration, const std::string& path,
                                     std::int64_t owner, bool write);
  Status look_at_cache(Phase& phase) const;
  Status move_all(Phase& phase);
  Status move_one_by_one(Phase& phase, std::int64_t limit, bool walled);
  Status move_in_flight(Phase& phase, std::int64_t limit, bool walled);
  Status pass_the_wall(Phase& phase, Status status);
  Status make_durable(Phase& phase);
  Status agree_on_counts(const Phase& phase);
  Status take_kept_count();
  Status check_buffers(Phase& phase, RepetitionRecord& record);
  Status check_untimed(const Configuration& configuration, std::int32_t repetition,
                       std::int64_t owner, const char* function, RepetitionRecord& record);
  void note(Phase& phase, std::int64_t index, std::int64_t offset, std::int64_t start_ns,
            std::int64_t end_ns) const;
  Error wrong_data(const PayloadMismatch& mismatch, const std::string& file,
                   std::int32_t repetition, const char* function);
  [[nodiscard]] std::uint32_t generation(std::int32_t repetition) const;
  [[nodiscard]] std::int64_t owner_read(const Configuration& configuration,
                                        std::int32_t repetition) const;
  Status prepare_buffers(const Configuration& configuration);

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Options& options_;
  TestFiles job_folders_;
  std::int64_t constant_offset_ = 0;  // of Reorder::constant, in ranks
  std::unique_ptr<Ring> ring_;        // of the latest configuration, as are the next two
  std::unique_ptr<Session> session_;
  std::unique_ptr<StampedPayload> payload_;
  const Configuration* prepared_for_ = nullptr;
  std::unique_ptr<VisitOrder> order_;  // for the data of `order_owner_`
  std::int64_t order_owner_ = -1;
  std::vector<std::int64_t> written_;  // transfers of each rank's data in the latest writing
  int failed_rank_ = none_failed;
  std::vector<PayloadFault> faults_;
};

}  // namespace weir::bench::stream

// One repetition of one configuration: writing, reading, and what is made and checked untimed.
//
// Protocol of one repetition, on every rank; between all steps the ranks meet (meeting.hpp):
//   1. Untimed: what has to be there before. With a section, the whole array, of a generation of
//      its own; where nothing is written in timed phases, what is read.
//   2. Write, timed: open | transfer and durable sync | close. The transfer is one call.
//   3. Read, timed likewise, into memory that holds nothing of it.
//   4. Untimed: every byte that was read is compared. With a section, and where nothing is read in
//      timed phases, the whole array is read back and compared too: inside the section it is what
//      was written last, outside what was there before.
// A rank whose operation failed goes on to the next meeting and tells it there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/ring.hpp"
#include "workloads/array/channel.hpp"
#include "workloads/array/element_payload.hpp"
#include "workloads/array/parameters.hpp"

namespace weir::bench::array_io {

// A configuration as all ranks run it.
struct Configuration {
  Variant variant;
  std::string path;  // of the file, or of the array's document; in the first test directory
  std::uint64_t payload_seed = 0;
};

// What a phase of an array cost this rank besides a PhaseRecord.
struct ArrayPhaseRecord {
  Direction direction = Direction::write;
  bool io_known = false;
  std::int64_t bytes_written = 0;  // handed to the system by this rank, open to close
  std::int64_t bytes_read = 0;
  std::optional<StageTimes> stages;
};

struct ArrayRecord {
  RepetitionRecord repetition;
  std::vector<ArrayPhaseRecord> phases;  // as many as the repetition has, in their order
};

class Executor {
 public:
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Geometry& geometry,
           const Options& options, std::vector<std::string> test_directories);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Collective. Fails on every rank when it fails on one: with the rank's own error where it
  // happened, elsewhere with ErrorCode::peer. `failed_rank()` then says where. Removes its file
  // unless --existing keeps it for the next repetition.
  Result<ArrayRecord> run(const Configuration& configuration, std::int32_t repetition);

  // Collective: ends what interfaces keep between repetitions. Call when all have succeeded.
  Status close();

  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  [[nodiscard]] const std::vector<PayloadFault>& payload_faults() const { return faults_; }

 private:
  // A rank's part, as one access to the array moves it.
  struct Access {
    Part part;
    std::vector<array::StridedCopy> runs;  // from memory to the file and the payload stream
    bool whole = false;
    std::int64_t bytes = 0;  // that are moved
  };
  struct Attempt;

  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  Status prepare(const Configuration& configuration, std::int32_t repetition);
  Result<Access> access(const Configuration& configuration, const array::RegularDistribution& by,
                        bool whole);
  // The test files that there are, and those that a failed run leaves.
  [[nodiscard]] std::vector<std::string> files_of(const Configuration& configuration) const;
  Status remove_files(const Configuration& configuration) const;
  // This rank's share of what contiguous pieces move: equal ones, whoever holds what.
  [[nodiscard]] std::int64_t contiguous_bytes() const;
  [[nodiscard]] ElementPayload payload(const Configuration& configuration,
                                       std::uint32_t generation) const;
  Status transfer(Attempt& attempt, PhaseRecord* figures, ArrayPhaseRecord* costs);
  Status timed_phase(Attempt& attempt, ArrayRecord& record);
  Status untimed(const Configuration& configuration, const Access& access, Direction direction,
                 bool create, std::int32_t repetition);
  Status compare(const Configuration& configuration, const Access& access, std::uint32_t generation,
                 std::int32_t repetition, const char* function, std::int64_t* verified);
  Status check_whole(const Configuration& configuration, std::int32_t repetition,
                     std::int64_t* verified);
  Status look_at_cache(const Attempt& attempt, PhaseRecord& figures) const;

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Geometry& geometry_;
  const Options& options_;
  std::vector<std::string> test_directories_;  // several: files are distributed to them
  std::unique_ptr<Ring> memory_;  // one buffer: the rank's part, whichever phase needs it
  std::map<Api, std::unique_ptr<Kept>> kept_;  // of each interface
  int failed_rank_ = none_failed;
  std::vector<PayloadFault> faults_;
};

}  // namespace weir::bench::array_io

// Carries out one repetition of one configuration: timed writing and reading, with untimed
// preparation and checks.
//
// The protocol of one repetition, on every rank; the ranks meet between all steps (meeting.hpp):
//   1. Untimed: write the data that must exist beforehand. With a section, this is the whole array,
//      of a generation of its own; if no timed phase writes, it is the data to be read.
//   2. Write, timed: open | transfer and durable sync | close. The transfer is one call.
//   3. Read, timed likewise, into memory that holds none of the data.
//   4. Untimed: compare every byte that was read. With a section, and if no timed phase reads, the
//      whole array is also read back and compared: inside the section with the data that was
//      written last, outside with the earlier data.
// A rank whose operation failed goes on to the next meeting and reports the failure there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "interfaces/element_payload.hpp"
#include "interfaces/interface.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/ring.hpp"
#include "workloads/array/parameters.hpp"

namespace weir::bench::array_io {

// A configuration as all ranks run it.
struct Configuration {
  Variant variant;
  std::string path;  // of the file, or of the array's document; in the first test directory
  std::uint64_t payload_seed = 0;
};

// Says what a phase of an array cost this rank, in addition to a PhaseRecord.
struct ArrayPhaseRecord {
  Direction direction = Direction::write;
  bool io_known = false;
  std::int64_t bytes_written = 0;  // that this rank handed to the system from open to close
  std::int64_t bytes_read = 0;
  std::optional<StageTimes> stages;
};

struct ArrayRecord {
  RepetitionRecord repetition;
  std::vector<ArrayPhaseRecord> phases;  // the repetition's phases, in their order
};

class Executor {
 public:
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Geometry& geometry,
           const Options& options, std::vector<std::string> test_directories);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Runs one repetition. Collective. Fails on every rank if it fails on one: with the rank's own
  // error where it happened, on other ranks with ErrorCode::peer, and `failed_rank()` is then the
  // failed rank. Removes the file unless --existing keeps it for the next repetition.
  Result<ArrayRecord> run(const Configuration& configuration, std::int32_t repetition);

  // Ends the state that interfaces keep between repetitions. Collective; call it if all repetitions
  // succeeded.
  Status close();

  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  [[nodiscard]] const std::vector<PayloadFault>& payload_faults() const { return faults_; }

 private:
  // A rank's part as one access to the array moves it.
  struct Access {
    Part part;
    std::vector<array::StridedCopy> runs;  // from memory to the file and the payload stream
    bool whole = false;                    // the whole array, whatever the geometry selects
    std::int64_t bytes = 0;                // number of bytes that are moved
  };
  struct Attempt;

  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  Status prepare(const Configuration& configuration, std::int32_t repetition);
  Result<Access> access(const Configuration& configuration, const array::RegularDistribution& by,
                        bool whole);
  // Returns the existing test files, including those that a failed run leaves.
  [[nodiscard]] std::vector<std::string> files_of(const Configuration& configuration) const;
  Status remove_files(const Configuration& configuration) const;
  // Returns this rank's share of the bytes moved in contiguous pieces. The shares are equal,
  // whatever the ranks hold.
  [[nodiscard]] std::int64_t contiguous_bytes() const;
  [[nodiscard]] ElementPayload payload(const Configuration& configuration,
                                       std::uint32_t generation) const;
  Result<std::unique_ptr<File>> open(const Attempt& attempt);
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
  std::vector<std::string> test_directories_;  // the files are distributed to all of them
  std::unique_ptr<Ring> memory_;  // one buffer, large enough for the rank's part in any phase
  std::map<const Interface*, std::unique_ptr<Session>> sessions_;
  int failed_rank_ = none_failed;
  std::vector<PayloadFault> faults_;
};

}  // namespace weir::bench::array_io

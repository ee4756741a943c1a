// Carries out one repetition of one configuration: writes all files, with busy work between them,
// and reads them back.
//
// The protocol of one repetition, on every rank:
//   1. Output steps, in turn. A step writes a file of each kind, as long as there are any; then
//      every rank does busy work. Writing a file:
//        fill the payload, meet      untimed
//        open | transfer and durable sync | close       timed; the ranks meet in between
//      The rank is blocked during these calls, but not while it waits for others at a meeting.
//   2. With staging, the sync hands the file over. The file stays open until it is known to be
//      durable: the ranks look at equal intervals during busy work, and wait after the last step.
//   3. Untimed: read every file, compare every element.
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
#include "measurement/core_settings.hpp"
#include "measurement/events.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/ring.hpp"
#include "workloads/output/content.hpp"
#include "workloads/output/parameters.hpp"

namespace weir::bench::output {

// A configuration as all ranks run it.
struct Configuration {
  Variant variant;
  std::string folder;  // of its files
  std::uint64_t payload_seed = 0;
};

struct OutputRecord {
  // One per file, in the order of writing, from opening until the file is durable. The rank was
  // blocked for foreground_ns of it.
  std::vector<Event> events;
  // By kind of file: how long the rank waited for its stager of what it was blocked.
  std::vector<std::int64_t> stager_wait_ns;
  std::int64_t work_ns = 0;
  std::int64_t bytes_verified = 0;
};

class Executor {
 public:
  // All arguments must outlive the executor.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Options& options,
           Content& content);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Each of these functions is collective and fails on every rank if it fails on one: with the
  // rank's own error where it happened, on other ranks with ErrorCode::peer. `failed_rank()` is
  // then the failed rank.

  // Prepares the content, allocates the memory, and measures how fast the ranks do busy work.
  Status begin();
  Result<OutputRecord> run(const Configuration& configuration, std::int32_t repetition);
  // Removes the files of the latest repetition.
  Status remove_files(const Configuration& configuration);
  // Ends what interfaces keep between files; call it if all repetitions succeeded.
  Status close();

  [[nodiscard]] int failed_rank() const { return failed_rank_; }
  [[nodiscard]] const std::vector<PayloadFault>& payload_faults() const { return faults_; }

  // Returns the memory that a rank needs at most.
  [[nodiscard]] static std::int64_t memory_bytes(const Content& content);

 private:
  // This rank's part of the files of a form, in memory.
  struct Part {
    std::vector<FileArray> arrays = {};
    std::vector<ArrayBox> boxes = {};
    std::vector<std::vector<std::byte>> elements = {};  // empty for variables
    std::vector<std::byte*> memory = {};
    std::int64_t bytes = 0;  // of this rank's boxes
  };
  struct Turn {  // one file of a repetition
    const Configuration& configuration;
    std::int32_t repetition;
    std::size_t kind;
    std::int64_t number;
  };
  struct Pending {  // a file that was handed over
    std::unique_ptr<File> file;
    std::string path;
    std::size_t event;
    Session* session;
    std::size_t kind;
  };

  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  Status measure_work();
  Part make_part(const Form& form) const;
  Part& part_of(const Turn& turn, Direction direction);
  [[nodiscard]] std::string path_of(const Turn& turn) const;
  [[nodiscard]] ElementPayload payload_of(const Turn& turn, const FileArray& array) const;
  Status make_folder(const Configuration& configuration) const;
  // Returns the staging of a variant as the library names it.
  [[nodiscard]] std::string staging_of(const Variant& variant) const;
  Result<Session*> session_of(const Variant& variant);
  Result<std::unique_ptr<File>> open(const Turn& turn, const std::string& path,
                                     Direction direction);
  void fill(const Turn& turn);
  Status write_file(const Turn& turn, OutputRecord& record);
  Status work(OutputRecord& record);
  // Closes the files that were handed over and are durable, in their order.
  Status look(OutputRecord& record);
  Status finish_first(OutputRecord& record);
  Status settle(OutputRecord& record);
  Status read_file(const Turn& turn, OutputRecord& record);
  Status compare(const Turn& turn, const std::vector<std::vector<std::byte>>& written);

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Options& options_;
  Content& content_;
  std::vector<Kind> kinds_;
  std::map<Form, Part> parts_;
  Ring memory_;  // one buffer, which the variables of every part share
  std::map<std::pair<const Interface*, Staging>, std::unique_ptr<Session>> sessions_;
  std::vector<Pending> pending_;
  std::int64_t work_operations_ = 0;  // after each output step
  double work_value_ = 0;             // so that the work is not left out
  int failed_rank_ = none_failed;
  std::vector<PayloadFault> faults_;
};

}  // namespace weir::bench::output

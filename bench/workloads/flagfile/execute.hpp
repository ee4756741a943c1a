// One repetition: some ranks poll a flag file, and others call stat on their own files, until the
// flag is set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/histogram.hpp"
#include "measurement/job.hpp"

namespace weir::bench::flagfile {

// One configuration, with its number of ranks that poll the flag.
struct Variant {
  std::int64_t pollers = 0;
};

// The options that all configurations of a job share.
struct Options {
  std::int64_t others = 0;      // the first ranks of the job, which call stat on their own files
  std::int64_t files = 0;       // for each of these ranks
  bool by_reading = false;      // a poll opens, reads and closes the flag; otherwise it is a stat
  double interval_seconds = 0;  // between two polls of a rank
  double seconds = 0;           // until the flag is set
};

enum class Part { other, poller, idle };

// Says what this rank did in a repetition, on its own clock.
struct RankRecord {
  Part part = Part::idle;
  std::int64_t operations = 0;  // stat calls on own files, or polls
  ActivePeriod active;
  std::int64_t busy_ns = 0;  // spent in the calls
  std::int64_t wait_ns = 0;  // waiting for the other ranks at the end
  // Rank 0: when it began to set the flag. A poller: when it saw that the flag was set.
  std::int64_t flag_ns = 0;
  std::int64_t files_verified = 0;
  LatencyHistogram latencies;
};

class Executor {
 public:
  // `root` is the folder of all files, which exists. All arguments must outlive the executor.
  Executor(const Job& job, FailureGuard& guard, const CoreSettings& core, const Options& options,
           std::string root);

  // Each of these functions is collective and fails on every rank if it fails on one: with the
  // rank's own error where it happened, on other ranks with ErrorCode::peer. `failed_rank()` is
  // then the failed rank.

  // Creates the files.
  Status begin();
  Result<RankRecord> run(const Variant& variant);
  // Removes the files.
  Status finish();

  [[nodiscard]] int failed_rank() const { return failed_rank_; }

 private:
  Status meet(Status mine, std::int64_t* wait_ns = nullptr);
  [[nodiscard]] Part part_of(const Variant& variant) const;
  Status make_files();
  Status remove_files();
  Status look_at_own_files(RankRecord* record);
  Status poll(RankRecord* record);
  [[nodiscard]] std::int64_t place_of_word() const;
  Result<bool> is_set();
  Status set_flag();
  Status make_flag();
  Status check_flag();

  const Job& job_;
  FailureGuard& guard_;
  const CoreSettings& core_;
  const Options& options_;
  std::string folder_;  // of this rank
  std::string flag_;
  std::vector<std::string> files_;
  std::uint64_t token_ = 0;  // the flag's content once it is set; different in every repetition
  int failed_rank_ = none_failed;
};

}  // namespace weir::bench::flagfile

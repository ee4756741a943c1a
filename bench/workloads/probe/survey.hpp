// The course of a probe, within its time:
//
// clang-format off
//   1. Test files: on every target each rank's file grows until writing all of them takes about a
//      fiftieth of the time, or memory or disk allow no more.
//   2. Pilots, one cell after the other, measure the time of one operation. They are warm-ups and
//      do not count.
//   3. A rehearsal: a round as planned from the pilots, including lead-ins. It does not count
//      either. With three or more targets there is no time for it.
//   4. Rounds, planned from the rehearsal, until the time is over.
// clang-format on
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/status.hpp"
#include "measurement/job.hpp"
#include "workloads/probe/budget.hpp"
#include "workloads/probe/cells.hpp"
#include "workloads/probe/instrument.hpp"

namespace weir::bench::probe {

// The requested probe.
struct Request {
  std::vector<std::string> directories;  // absolute
  std::string output;
  double seconds = 0;
  double deadline_seconds = 0;
  bool progress_json = false;
};

// The resources that the hosts and the file systems can spare. Collective; all ranks get the same.
struct Spare {
  std::int64_t memory_available = 0;             // summed over the hosts
  std::int64_t buffer_bytes = 0;                 // of each of a rank's two buffers
  std::vector<std::int64_t> largest_file_bytes;  // of a rank's file with all ranks, by target
};
[[nodiscard]] Result<Spare> find_spare(const Job& job, const Request& request);

class Survey {
 public:
  Survey(const Job& job, const Request& request, const Spare& spare, const Placement& placement,
         Instrument& instrument)
      : job_(job),
        request_(request),
        spare_(spare),
        placement_(placement),
        instrument_(instrument) {}

  // prepare() and measure() are collective. `folders` are this rank's, by target.
  Status prepare(const std::vector<std::string>& folders);
  Status measure();

  // Returns the samples of probe.json, after measure().
  [[nodiscard]] nlohmann::ordered_json samples() const;
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  // The course of one cell.
  struct Course {
    TrialPlan plan;
    Cost cost;
    std::vector<std::vector<double>> seconds;  // of each sample, over the counted trials
  };
  enum class Kind { pilot, rehearsal, counted };

  // Returns the time that writing the files of all ranks on a target may take.
  [[nodiscard]] double files_seconds() const;
  Result<TargetShape> grow_files(int target);
  // Writes the files in full, larger than growing made them if there is time for it.
  Status fill_files(int target);
  // Predicts the cell's cost if a pilot would take long and give little information. Returns
  // whether it did.
  bool predict(std::size_t index);
  Status make_pilots();
  Status make_pilot(std::size_t index);
  // Makes one trial of every cell in a new random order; stops when no time is left.
  Status make_round(Kind kind, std::uint64_t seed);
  Status make_trial(std::size_t index, Kind kind);
  // Plans all trials again, for rounds of that length.
  void plan(double round_seconds);
  Status look_at_clock();
  void report_progress(const Cell& cell, Kind kind);
  [[nodiscard]] bool over_time() const;
  [[nodiscard]] bool is_many() const { return request_.directories.size() >= 3; }
  [[nodiscard]] std::string describe(const Cell& cell) const;

  const Job& job_;
  const Request& request_;
  const Spare& spare_;
  const Placement& placement_;
  Instrument& instrument_;
  Shape shape_;
  std::vector<Cell> cells_;
  std::vector<Course> courses_;
  std::vector<std::string> warnings_;
  std::int64_t began_ns_ = monotonic_ns();
  double elapsed_ = 0;  // seconds on rank 0's clock
  double reported_ = -1;
  int rounds_ = 0;
};

}  // namespace weir::bench::probe

// The course of a probe, within its time:
//
//   1. Test files: on every target each rank's file grows until writing all of them takes about a
//      fiftieth of the time, or memory or disk allow no more.
//   2. Pilots, one cell after the other: what one operation takes. They warm up, and do not count.
//   3. A rehearsal: a round as planned from the pilots, lead-ins included. It does not count
//   either.
//      Of three targets and more there is no time for it.
//   4. Rounds, planned from the rehearsal, until the time is over.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/status.hpp"
#include "measurement/job.hpp"
#include "workloads/probe/budget.hpp"
#include "workloads/probe/cells.hpp"
#include "workloads/probe/instrument.hpp"

namespace weir::bench::probe {

// What was asked for.
struct Request {
  std::vector<std::string> directories;  // absolute
  std::string output;
  double seconds = 0;
  double deadline_seconds = 0;
  bool progress_json = false;
};

// What the hosts and the file systems can spare. Collective; the same on every rank.
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

  // Collective, both. `folders`: this rank's, by target.
  Status prepare(const std::vector<std::string>& folders);
  Status measure();

  // The samples of probe.json, after measure().
  [[nodiscard]] nlohmann::ordered_json samples() const;
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Course {  // of one cell
    TrialPlan plan;
    Cost cost;
    std::vector<std::vector<double>> seconds;  // of each sample, counted trials
  };
  enum class Kind { pilot, rehearsal, counted };

  // What writing the files of all ranks on a target may take.
  [[nodiscard]] double files_seconds() const;
  Result<TargetShape> grow_files(int target);
  // Writes the files in full, larger than they were grown where there is time for it.
  Status fill_files(int target);
  // Whether the cell's cost is known without a pilot: where a pilot would take long and tell
  // little.
  bool predict(std::size_t index);
  Status make_pilots();
  Status make_pilot(std::size_t index);
  // One trial of every cell in an order of its own; stops where there is no time left.
  Status make_round(Kind kind, std::uint64_t seed);
  Status make_trial(std::size_t index, Kind kind);
  // Plans all trials anew, for rounds of that length.
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

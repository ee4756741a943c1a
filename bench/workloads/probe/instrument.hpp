// Makes single trials of cells, by all ranks together. Every function is collective and returns the
// same value on every rank, or an error on every rank.
//
// clang-format off
// A trial:
//   1. Prepare: drop pages, or make them resident.
//   2. Meet.
//   3. Move the lead-in.
//   4. Meet.
//   5. Do the timed part.
//   6. Agree on its span.
//   7. Check what was read, and sync what is not synced yet.
// Ranks that take no part sleep in steps 4 and 6.
// clang-format on
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/meeting.hpp"
#include "measurement/ring.hpp"
#include "workloads/probe/cells.hpp"
#include "workloads/probe/shared_file.hpp"
#include "workloads/probe/target_file.hpp"

namespace weir::bench::probe {

// The places of the ranks.
struct Placement {
  std::vector<int> host_ranks;               // ranks of each host
  std::vector<std::vector<int>> world_rank;  // [host][rank on the host]
  std::vector<std::string> hosts;            // names
  int position = 0;                          // of this rank (cells.hpp: position_of)
};
// Collective.
[[nodiscard]] Placement find_placement(const Job& job);

// Says what one trial does.
struct TrialPlan {
  std::int64_t operations = 1;     // of one rank
  std::int64_t lead_in_bytes = 0;  // of one rank, before the operations
};

class Instrument {
 public:
  Instrument(const Job& job, FailureGuard& guard, const ClockOffset& offset,
             const Placement& placement)
      : job_(job), guard_(guard), meeting_(job, offset), placement_(placement) {}

  // Makes a rank's two buffers hold at least `bytes` each: test files are written from one and read
  // into the other.
  Status provide_buffers(std::int64_t bytes);
  [[nodiscard]] std::int64_t buffer_bytes() const { return buffers_.bytes_each(); }
  // Returns one of the two buffers, in turn.
  [[nodiscard]] std::byte* buffer(std::int64_t number) const { return buffers_.at(number); }
  // Adds a target, with this rank's folder and file on it.
  Status add_target(const std::string& folder);
  // Writes the first `bytes` of every rank's file and syncs. `bytes` may differ between ranks.
  // Returns the seconds.
  Result<double> write_files(int target, std::int64_t bytes);
  // Returns whether the file system accepts O_DIRECT on all ranks.
  Result<bool> open_direct(int target);
  // Returns the share of a file's pages that stay in memory after they were dropped, on the worst
  // rank; 0 if it is unknown.
  Result<double> resident_after_drop(int target, std::int64_t bytes);

  // Begins a new generation of the payload for all later writes.
  Status renew_payload();
  // Makes one trial and returns the seconds of each of its samples (sample_names in cells.hpp).
  Result<std::vector<double>> trial(const Cell& cell, const TrialPlan& plan);

  [[nodiscard]] Meeting& meeting() { return meeting_; }

 private:
  Result<double> move_file(const Cell& cell, const TrialPlan& plan);
  Status make_ready(const Cell& cell, std::int64_t end, bool takes_part);
  Status finish(const Cell& cell, std::int64_t end, bool takes_part);
  Result<double> copy_memory(const Cell& cell, std::int64_t operations);
  Result<double> copy_runs(const Cell& cell, std::int64_t operations);
  Result<double> work(const Cell& cell, std::int64_t operations);
  Result<double> call(const Cell& cell, std::int64_t operations);
  Result<double> write_shared(const Cell& cell, std::int64_t operations);
  Result<double> sync(const Cell& cell, std::int64_t operations);
  Result<double> meet(std::int64_t operations);
  Result<double> message(const Cell& cell, const TrialPlan& plan);
  Result<std::vector<double>> make_items(const Cell& cell, std::int64_t operations);
  // Returns the seconds of a finished trial, with the `ends` of this rank's operations
  // (bursts.hpp).
  Result<double> seconds_in_bursts(const Meeting::Span& span,
                                   const std::vector<std::int64_t>& ends);
  // Ranks that sleep contribute no times.
  Result<double> seconds_of_span(Status mine, const Times& times, bool takes_part);
  [[nodiscard]] bool takes_part(const Cell& cell) const { return placement_.position < cell.ranks; }
  [[nodiscard]] TargetFile& file_of(const Cell& cell) {
    return targets_[static_cast<std::size_t>(cell.target)];
  }
  [[nodiscard]] std::byte* written_image() const { return buffers_.at(0); }
  [[nodiscard]] std::byte* read_image() const { return buffers_.at(1); }

  const Job& job_;
  FailureGuard& guard_;
  Meeting meeting_;
  const Placement& placement_;
  Ring buffers_;
  std::vector<TargetFile> targets_;
  std::vector<SharedFile> shared_files_;  // by target
  std::uint32_t generation_ = 0;
  std::int64_t trials_ = 0;
  double consumed_ = 0;  // results of busy work
};

}  // namespace weir::bench::probe

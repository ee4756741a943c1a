// A calibration: the quick probe before a run, of only what decides the run's expectation. All
// ranks measure together, with files as large and as shared as the run's, one figure after the
// other.
//
//   1. The largest piece, up to the requested size, that memory, disk and time allow.
//   2. Each figure: a warm-up, a pilot that shows how much one trial can do, one trial that does
//      not count, and the trials (trials.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/status.hpp"
#include "measurement/files_on_targets.hpp"
#include "measurement/job.hpp"
#include "system/striping.hpp"
#include "workloads/probe/instrument.hpp"
#include "workloads/probe/room.hpp"
#include "workloads/probe/run_file.hpp"
#include "workloads/probe/stager_link.hpp"

namespace weir::bench::probe {

// The requested calibration.
struct CalibrationRequest {
  std::string directory;
  std::string output;
  std::int64_t transfer_bytes = 0;
  std::int64_t bytes_per_rank = 0;  // of one rank in its file
  bool shared_file = false;
  bool direct = false;  // storage by O_DIRECT
  double seconds = 0;
  double deadline_seconds = 0;
  storage::Striping striping = {};   // of the test files
  FilesOnTargets targets = {};       // of the test files; empty: any
  std::string links_text = {};       // as given: 1x4,2x1
  std::vector<LinkEnds> links = {};  // ways to stagers of a service that are measured
  std::string service;  // names stagers, whose way is measured if they are on the job's only node
};

class Calibration {
 public:
  Calibration(const Job& job, const CalibrationRequest& request, const Room& room,
              Instrument& instrument, RunFile& file)
      : job_(job),
        request_(request),
        room_(room),
        piece_bytes_(room.piece_bytes),
        instrument_(instrument),
        file_(file) {}

  // Measures all figures. Collective, like all functions of the instrument and of the file.
  Status measure_all();
  // Returns a `Calibration` of calibration.json, after measure_all() has succeeded.
  [[nodiscard]] nlohmann::ordered_json result() const;

 private:
  using Trial = std::function<Result<double>(std::int64_t repeats)>;

  // Returns a `Trials` of calibration.json.
  Result<nlohmann::ordered_json> measure(double share, std::int64_t most, const Trial& trial);
  // Measures the ways to stagers.
  Status measure_links();
  Status measure_link(const LinkEnds& ends);
  Status find_piece();
  // Returns the seconds on rank 0's clock, so that every rank decides alike.
  Result<double> seconds_since(std::int64_t start_ns) const;
  // Returns the seconds of `operations` operations of a cell without files by `ranks` ranks.
  Result<double> seconds_taken(Operation operation, int ranks, std::int64_t operations);
  // Returns the bytes per second of copies between the two buffers.
  Result<double> memory_copy(int ranks, std::int64_t copies);
  [[nodiscard]] std::int64_t pieces_per_trial(std::int64_t piece_bytes) const;

  const Job& job_;
  const CalibrationRequest& request_;
  const Room& room_;
  std::int64_t piece_bytes_;
  Instrument& instrument_;
  RunFile& file_;
  std::int64_t cached_bytes_ = 0;        // of one rank in a file whose resident pages are read
  std::int64_t storage_read_bytes_ = 0;  // of one rank in the file that is read from storage
  std::int64_t synced_once_bytes_ = 0;   // by one rank before one sync
  std::int64_t processors_ = 0;          // of a node; 0: not known
  std::int64_t began_ns_ = monotonic_ns();
  nlohmann::ordered_json figures_;
};

}  // namespace weir::bench::probe

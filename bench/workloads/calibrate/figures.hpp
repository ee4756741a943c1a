// Measures the figures of a calibration, one after the other, within the available time.
//
//   1. The largest piece, up to the requested size, that memory, disk and time allow.
//   2. Each figure: a warm-up, a pilot that shows how much one trial can do, one trial that does
//      not count, and the trials (trials.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "common/clock.hpp"
#include "common/status.hpp"
#include "measurement/job.hpp"
#include "system/striping.hpp"
#include "workloads/calibrate/probe.hpp"

namespace weir::bench::calibrate {

// The requested calibration.
struct Request {
  std::string directory;
  std::string output;
  std::int64_t transfer_bytes = 0;
  std::int64_t bytes_per_rank = 0;  // of one rank in its file
  bool shared_file = false;
  double seconds = 0;
  double deadline_seconds = 0;
  storage::Striping striping = {};  // of the test files
};

// The memory and disk space that the job's nodes and the file system can spare.
struct Room {
  std::int64_t memory_per_rank = 0;   // on the node with the least memory for each of its ranks
  std::int64_t memory_available = 0;  // summed over the nodes
  std::int64_t disk_per_rank = 0;
  std::int64_t copy_bytes = 0;   // of a buffer for memory copies
  std::int64_t piece_bytes = 0;  // the largest piece, up to the requested size
  std::int64_t file_bytes = 0;   // of one rank, at most, in a test file
};
// Collective; all ranks return the same result.
[[nodiscard]] Room find_room(const Job& job, const Request& request);

class Calibration {
 public:
  Calibration(const Job& job, const Request& request, const Room& room, Probe& probe)
      : job_(job), request_(request), room_(room), piece_bytes_(room.piece_bytes), probe_(probe) {}

  // Measures all figures. Collective, like all of the probe's functions.
  Status measure_all();
  // Returns a `Calibration` of calibration.json, after measure_all() has succeeded.
  [[nodiscard]] nlohmann::ordered_json result() const;

 private:
  using Trial = std::function<Result<double>(std::int64_t repeats)>;

  Status measure(const char* name, double share, std::int64_t most, const Trial& trial);
  Status find_piece();
  Result<double> seconds_since(std::int64_t start_ns) const;
  [[nodiscard]] std::int64_t pieces_per_trial(std::int64_t piece_bytes) const;

  const Job& job_;
  const Request& request_;
  const Room& room_;
  std::int64_t piece_bytes_;
  Probe& probe_;
  std::int64_t cached_bytes_ = 0;       // of one rank in a file whose resident pages are read
  std::int64_t synced_once_bytes_ = 0;  // by one rank before one sync
  std::int64_t began_ns_ = monotonic_ns();
  nlohmann::ordered_json figures_;
};

}  // namespace weir::bench::calibrate

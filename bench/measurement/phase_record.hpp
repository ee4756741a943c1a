// What one repetition leaves of every rank, for workloads whose repetition is a phase of writing
// and a phase of reading.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measurement/events.hpp"
#include "measurement/histogram.hpp"
#include "measurement/payload.hpp"
#include "storage/engines/transfer.hpp"

namespace weir::bench {

// As events and phases name a function (python/weir/results/events.py).
inline constexpr std::int8_t function_write = 4;
inline constexpr std::int8_t function_read = 5;

// What a rank had done when the time of --stonewall was over.
struct Wall {
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t elapsed_ns =
      0;                 // from its first transfer to the end of its last one before the wall
  bool reached = false;  // it stopped for the wall, not because it was done
};

// What one phase cost this rank. Times are of this process's clock.
struct PhaseRecord {
  Direction direction = Direction::write;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t start_ns = 0;  // the first transfer begins
  std::int64_t end_ns = 0;    // the last has ended, and the durable sync
  std::int64_t io_ns = 0;     // in transfers and sync; with several in flight, from start to end
  std::int64_t sync_ns = 0;   // of it, in the sync at the end
  std::int64_t wait_ns = 0;   // for the other ranks, after end_ns
  std::int64_t open_ns = 0;
  std::int64_t close_ns = 0;
  std::int64_t opening_ns = 0;  // when opening began
  std::int64_t closed_ns = 0;   // when closing had ended
  Wall wall;
  LatencyHistogram latencies;     // of every operation
  std::int64_t device_bytes = 0;  // on node leaders: of the node's devices, in this direction
  bool device_known = false;
  std::optional<double> resident_before;  // reads: share of the file in this node's page cache
  std::int64_t trace_step = 1;            // every so-manieth operation is in the trace
};

struct RepetitionRecord {
  std::vector<PhaseRecord> phases;
  std::vector<Event> events;
  std::int64_t bytes_verified = 0;
};

// Data that came back wrong, of one rank.
struct PayloadFault {
  PayloadMismatch mismatch;
  std::string file;
  std::int32_t repetition = 0;
  const char* function = "";
};

// The "errors" of run.json's verification.
[[nodiscard]] nlohmann::ordered_json payload_errors(const std::vector<PayloadFault>& faults,
                                                    int rank);

// The failure that the first fault of a run is.
[[nodiscard]] Error wrong_data_error(const PayloadFault& fault, int rank);

}  // namespace weir::bench

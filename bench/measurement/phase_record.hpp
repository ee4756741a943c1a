// The record that one repetition leaves on every rank, for workloads whose repetition consists of a
// phase of writing and a phase of reading.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/direction.hpp"
#include "measurement/events.hpp"
#include "measurement/histogram.hpp"
#include "measurement/payload.hpp"

namespace weir::bench {

// The numbers of the functions in events and phases (python/weir/results/events.py).
inline constexpr std::int8_t function_write = 4;
inline constexpr std::int8_t function_read = 5;
inline constexpr std::int8_t function_checkpoint = 6;
inline constexpr std::int8_t function_plot = 7;

// Says what a rank had done when the time of --stonewall had passed.
struct Wall {
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  // From the rank's first transfer to the end of its last transfer before the wall.
  std::int64_t elapsed_ns = 0;
  bool reached = false;  // the rank stopped because of the wall, not because it had finished
};

// Says what one phase cost this rank. Times are on this process's clock.
struct PhaseRecord {
  Direction direction = Direction::write;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  std::int64_t start_ns = 0;  // start of the first transfer
  std::int64_t end_ns = 0;    // end of the last transfer with its durable sync
  std::int64_t io_ns = 0;     // in transfers and sync; with several in flight, from start to end
  std::int64_t sync_ns = 0;   // the part of io_ns in the sync at the end
  std::int64_t wait_ns = 0;   // waiting for the other ranks after end_ns
  std::int64_t open_ns = 0;
  std::int64_t close_ns = 0;
  std::int64_t opening_ns = 0;  // start of opening
  std::int64_t closed_ns = 0;   // end of closing
  Wall wall;
  LatencyHistogram latencies;  // of every operation
  // On node leaders: the bytes that the node's devices moved in this direction.
  std::int64_t device_bytes = 0;
  bool device_known = false;
  std::optional<double> resident_before;  // reads: share of the file in this node's page cache
  std::int64_t trace_step = 1;            // every trace_step-th operation is in the trace
};

struct RepetitionRecord {
  std::vector<PhaseRecord> phases;
  std::vector<Event> events;
  std::int64_t bytes_verified = 0;
};

// Data that were read back wrong, of one rank.
struct PayloadFault {
  PayloadMismatch mismatch;
  std::string file;
  std::int32_t repetition = 0;
  const char* function = "";
};

// Returns the "errors" of run.json's verification.
[[nodiscard]] nlohmann::ordered_json payload_errors(const std::vector<PayloadFault>& faults,
                                                    int rank);

// Returns the failure that results from the first fault of a run.
[[nodiscard]] Error wrong_data_error(const PayloadFault& fault, int rank);

}  // namespace weir::bench

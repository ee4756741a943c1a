// The trace: each operation of each rank, kept in memory and written as columns at the end.
//
// In the result, `events/` holds one NumPy file (.npy) per column, all of the same length. Each
// rank writes its own slice of every column at its own place, so nothing is gathered.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

enum class Operation : std::int8_t { read = 0, write = 1, sync = 2, compute = 3, remap = 4 };

struct Event {
  std::int32_t repetition = 0;
  std::int8_t function = 0;  // 0 S, 1 D, 2 W, 3 C, 4 write, 5 read, 6 checkpoint, 7 plot
  Operation operation = Operation::read;
  std::int32_t bin = 0;
  std::int32_t gang = 0;
  std::int64_t start_ns = 0;  // on this process's clock until the trace is written
  std::int64_t end_ns = 0;
  std::int64_t foreground_ns = 0;  // the part of the duration in which the rank was blocked
  std::int64_t bytes = 0;
  std::int64_t offset_bytes = 0;
  std::int64_t barrier_wait_ns = 0;  // at the barrier after the operation
  std::int64_t token_wait_ns = 0;    // for the RMOD/WMOD token before the operation
};

// Writes the columns of all ranks' events to FOLDER/events/. Collective; FOLDER must be visible on
// every rank. Only a rank that cannot write its slice returns an error, so the ranks must agree on
// the status afterwards (agree_on in job.hpp). `to_run_time` converts this process's clock to
// nanoseconds since the run's start on rank 0's clock.
Status write_events(const Job& job, const std::string& folder, std::span<const Event> events,
                    const std::function<std::int64_t(std::int64_t)>& to_run_time);

// Returns the header of a version 1.0 .npy file for a 1-D array. `type` is NumPy's, such as "<i8".
[[nodiscard]] std::string npy_header(const std::string& type, std::int64_t length);

}  // namespace weir::bench

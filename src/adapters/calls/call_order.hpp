// The order of a process's calls, recorded for `weir record`: a text file in the folder that the
// environment variable WEIR_CALLS_ORDER_FOLDER names. Only calls on files are recorded that moved
// bytes, opened, closed, truncated or made durable, and succeeded. The files are those in the
// folders of WEIR_CALLS_UNDER, with colons between them, or all but those of the system
// (is_system_path()).
//
// The record has lines of words separated by tabs, as that of counts (record.hpp):
//
//   weir-order 1
//   process PID RANK RANKS HOST TIME PROGRAM
//   loop COUNT LENGTH LEVEL
//   KIND COUNT FILE OFFSET BYTES FIRST_GAP_NS OTHER_GAPS_NS CALL_NS [OFFSET_STRIDE FILE_STRIDE]...
//   missed CALLS BYTES            calls that are in no line: the record was full, or busy
//   file PATH                     in the order of the files' numbers, which begin at 0
//   end NS                        time since the process began
//
// The lines of calls and loops are those of call_pattern.hpp; strides are those of levels 0, 1 and
// so on, as far as they are not 0. They are written when the memory is full, and at the end. A
// process that is killed leaves a record without an end.
//
// Threads record one at a time. A thread that finds the record busy for about a millisecond, such
// as a signal handler that interrupted the recording, leaves its call out, and the call counts as
// missed; so nothing can wait for ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "adapters/calls/call_counts.hpp"
#include "adapters/calls/call_pattern.hpp"

namespace weir::calls {

inline constexpr std::size_t most_order_lines = 65536;
inline constexpr std::size_t most_ordered_files = 16384;

// Whether calls are recorded in their order.
inline constinit std::atomic<bool> ordering{false};

// Begins the record of this process.
void begin_order(const char* folder);
// Writes the rest of the record and closes it.
void end_order();

// Records a call that took from `start_ns` to `end_ns`. If this process did not open the file, as
// when a child inherits it, only calls that move bytes are recorded.
void note_call(CallKind kind, FileCounts* file, std::int64_t offset, std::int64_t bytes,
               std::int64_t start_ns, std::int64_t end_ns);
void note_opening(FileCounts* file, std::int64_t flags, std::int64_t start_ns, std::int64_t end_ns);

// Returns whether files at that absolute path belong to the system: programs, libraries and their
// settings.
[[nodiscard]] bool is_system_path(std::string_view absolute);

}  // namespace weir::calls

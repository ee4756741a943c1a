// The order of a process's calls, recorded for `weir record`: a text file in the folder that an
// environment variable names, WEIR_CALLS_ORDER_FOLDER for calls of libc and WEIR_MPIIO_ORDER_FOLDER
// for those of MPI-IO. Only calls on files are recorded that moved bytes, opened, closed, truncated
// or made durable, and succeeded. The files are those in the folders of WEIR_CALLS_UNDER, with
// colons between them, or all but those of the system (is_system_path()).
//
// The record has lines of words separated by tabs, as that of counts (record.hpp):
//
//   weir-order 2
//   process PID RANK RANKS HOST TIME PROGRAM
//   loop COUNT LENGTH LEVEL
//   KIND COUNT FILE OFFSET BYTES FIRST_GAP_NS OTHER_GAPS_NS CALL_NS [OFFSET_STRIDE FILE_STRIDE]...
//   missed CALLS BYTES            calls that are in no line: the record was full, or busy, or the
//                                 bytes of the call are not known
//   shape [OFFSET BLOCK LEVELS [COUNT STRIDE]...]...
//                                 in the order of the shapes' numbers, which begin at 0
//   file PATH                     in the order of the files' numbers, which begin at 0
//   end NS                        time since the process began
//
// The lines of calls and loops are those of call_pattern.hpp; strides are those of levels 0, 1 and
// so on, as far as they are not 0. If the bytes of a call are not one block, OFFSET is that of the
// first one, and BYTES is followed by a colon and the number of their shape: patterns
// (array/byte_pattern.hpp), each with its offset behind the first byte, the bytes of a block, and
// the levels, the outermost first. They are written when the memory is full, and at the end. A
// process that is killed leaves a record without an end.
//
// Threads record one at a time. A thread that finds the record busy for about a millisecond, such
// as a signal handler that interrupted the recording, leaves its call out, and the call counts as
// missed; so nothing can wait for ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "adapters/calls/call_pattern.hpp"

namespace weir::calls {

// Counts are read after all counting has ended, or while it goes on; no order is needed.
inline constexpr auto relaxed = std::memory_order_relaxed;

// A file as the record knows it. Zero bytes are a valid object.
struct OrderedFile {
  std::atomic<const char*> path;     // absolute; null until it is written
  std::atomic<std::int32_t> number;  // in the record, plus 1; 0: none yet; below: not recorded
};

inline constexpr std::size_t most_order_lines = 65536;
inline constexpr std::size_t most_ordered_files = 16384;
inline constexpr std::size_t most_order_shapes = 4096;
inline constexpr std::size_t most_shape_numbers = 65536;  // of all shapes together

// True if calls are recorded in their order.
inline constinit std::atomic<bool> ordering{false};

// Begins the record of this process.
void begin_order(const char* folder);
// Writes the rest of the record and closes it.
void end_order();

// Records a call that took from `start_ns` to `end_ns`. If this process did not open the file, as
// when a child inherits it, only calls that move bytes are recorded.
// `shape` has the numbers of its line; it is empty if the bytes are one block.
void note_call(CallKind kind, OrderedFile* file, std::int64_t offset, std::int64_t bytes,
               std::int64_t start_ns, std::int64_t end_ns,
               std::span<const std::int64_t> shape = {});
void note_opening(OrderedFile* file, std::int64_t flags, std::int64_t start_ns,
                  std::int64_t end_ns);
// Counts a call that moved bytes of a file, but which ones is not known.
void note_unknown(OrderedFile* file, std::int64_t bytes);

// Returns whether files at that absolute path belong to the system: programs, libraries and their
// settings.
[[nodiscard]] bool is_system_path(std::string_view absolute);

}  // namespace weir::calls

// The record of a program's calls, as `weir record` writes it (python/weir/replay/joining.py): what
// each rank asked of files, as lines that repeat (adapters/calls/call_pattern.hpp).
//
// The file has lines of words separated by tabs:
//   weir-record 1
//   command COMMAND
//   file PATH                                          in the order of the files' numbers, from 0
//   rank LINES MISSED_CALLS MISSED_BYTES FILES         for each rank, followed by its LINES lines
//   loop COUNT LENGTH LEVEL
//   KIND COUNT FILE OFFSET BYTES FIRST_GAP_NS OTHER_GAPS_NS CALL_NS [OFFSET_STRIDE FILE_STRIDE]...
//   end FILES RANKS
// FILES of a rank are the numbers of its files, such as 0-3,7; FILE is a place in this list. Gaps
// and times are sums over all rounds.
//
// A record is not trusted: every number is checked when it is read, for all rounds of all loops, so
// that replaying needs no check. Paths are not used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/calls/call_pattern.hpp"
#include "common/status.hpp"

namespace weir::bench::replay {

using calls::CallKind;

inline constexpr std::size_t most_record_bytes = std::size_t{1} << 30;
inline constexpr std::int64_t most_record_files = 1 << 20;
inline constexpr std::int64_t most_record_ranks = 1 << 20;
inline constexpr std::int64_t most_rank_calls = std::int64_t{1} << 32;
inline constexpr std::int64_t most_call_bytes = 0x7ffff000;  // the most that Linux moves at once
inline constexpr std::int64_t most_file_bytes = std::int64_t{1} << 60;

// What a rank did in all.
struct RankSums {
  std::int64_t calls = 0;
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t largest_bytes = 0;  // of a call that moved bytes
  std::int64_t gap_ns = 0;
  std::int64_t call_ns = 0;
  std::int64_t missed_calls = 0;  // not in the record
  std::int64_t missed_bytes = 0;
};

// What all ranks together did with a file.
struct FileFacts {
  std::int64_t users = 0;  // ranks
  std::int64_t end = 0;    // no call touched a byte from here on
};

struct RankRecord {
  std::vector<calls::PatternLine> lines;
  std::vector<std::int64_t> files;  // numbers of the record's files
};

struct Record {
  std::string command;
  std::vector<FileFacts> files;
  std::vector<RankSums> sums;     // by rank
  std::vector<RankRecord> ranks;  // by rank; empty for ranks that are not kept
};

// Reads a record and checks it. The lines of a rank are kept if `keeps(rank)`. An error names the
// line.
[[nodiscard]] Result<Record> parse_record(std::string_view text,
                                          const std::function<bool(std::int64_t rank)>& keeps);
// Does the same for a file, which the error names.
[[nodiscard]] Result<Record> read_record(const std::string& path,
                                         const std::function<bool(std::int64_t rank)>& keeps);

struct ReplayedCall {
  CallKind kind = CallKind::open;
  std::int64_t file = 0;    // number of the record's file
  std::int64_t offset = 0;  // as in adapters/calls/call_pattern.hpp
  std::int64_t bytes = 0;
  std::int64_t gap_ns = 0;  // before the call; the mean over the rounds of its line
};

// Goes through a rank's calls in their order, without expanding them.
class CallCursor {
 public:
  // The record must outlive the cursor.
  explicit CallCursor(const RankRecord& record);

  // Returns false after the last call.
  bool next(ReplayedCall* call);

 private:
  struct Loop {
    std::size_t begin = 0;  // its first line, and the line after its last
    std::size_t end = 0;
    std::size_t level = 0;
    std::int64_t count = 0;
    std::int64_t rounds_in_all = 0;  // of this loop and those around it
  };

  const RankRecord& record_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;  // of the loops around the line
  std::array<Loop, calls::most_levels> loops_{};
  std::array<std::int64_t, calls::most_levels> round_{};  // by level
};

}  // namespace weir::bench::replay

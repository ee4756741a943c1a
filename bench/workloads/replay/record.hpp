// The record of a program's calls, as `weir record` writes it (python/weir/replay/joining.py): what
// each rank asked of files, as lines that repeat (adapters/calls/call_pattern.hpp).
//
// The file has lines of words separated by tabs:
//   weir-record 2                                      or 1, which has no shapes
//   command COMMAND
//   file PATH                                          in the order of the files' numbers, from 0
//   shape [OFFSET BLOCK LEVELS [COUNT STRIDE]...]...   in the order of the shapes' numbers, from 0
//   rank LINES MISSED_CALLS MISSED_BYTES FILES         for each rank, followed by its LINES lines
//   loop COUNT LENGTH LEVEL
//   KIND COUNT FILE OFFSET BYTES FIRST_GAP_NS OTHER_GAPS_NS CALL_NS [OFFSET_STRIDE FILE_STRIDE]...
//   end FILES RANKS
// FILES of a rank are the numbers of its files, such as 0-3,7; FILE is a place in this list. Gaps
// and times are sums over all rounds. BYTES may be followed by a colon and the number of a shape:
// the bytes are not one block then, but those of patterns (array/byte_pattern.hpp), whose offsets
// are behind OFFSET, the first one's by 0.
//
// A record is not trusted: every number is checked when it is read, for all rounds of all loops, so
// that replaying needs no check. Paths are not used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/calls/call_pattern.hpp"
#include "array/byte_pattern.hpp"
#include "common/status.hpp"
#include "interfaces/file_blocks.hpp"

namespace weir::bench::replay {

using calls::CallKind;

inline constexpr std::size_t most_record_bytes = std::size_t{1} << 30;
inline constexpr std::int64_t most_record_files = 1 << 20;
inline constexpr std::int64_t most_record_ranks = 1 << 20;
inline constexpr std::int64_t most_rank_calls = std::int64_t{1} << 32;
inline constexpr std::int64_t most_call_bytes = 0x7ffff000;  // the most that Linux moves at once
inline constexpr std::int64_t most_record_shapes = 1 << 16;
inline constexpr std::int64_t most_record_patterns = 1 << 18;  // of all shapes together
// Blocks of a rank's calls whose bytes are not one block. It bounds the work of a replay and of the
// comparison of what it wrote.
inline constexpr std::int64_t most_rank_blocks = std::int64_t{1} << 24;
inline constexpr std::int64_t most_file_bytes = std::int64_t{1} << 60;

// Says what a rank did in all.
struct RankSums {
  std::int64_t calls = 0;
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t largest_bytes = 0;  // of a call that moved bytes
  std::int64_t blocks = 0;         // of calls whose bytes are not one block
  std::int64_t gap_ns = 0;
  std::int64_t call_ns = 0;
  std::int64_t missed_calls = 0;  // not in the record
  std::int64_t missed_bytes = 0;
};

// Says what all ranks together did with a file.
struct FileFacts {
  std::int64_t users = 0;  // ranks
  std::int64_t end = 0;    // no call touched a byte from here on
};

// The bytes of a call, from the first one on, which has the offset 0.
struct Shape {
  std::vector<array::BytePattern> patterns;
  std::int64_t bytes = 0;
  std::int64_t end = 0;  // behind the last one
  std::int64_t blocks = 0;
};
using Shapes = std::vector<Shape>;

struct RankRecord {
  std::vector<calls::PatternLine> lines;
  std::vector<std::int64_t> files = {};            // numbers of the record's files
  std::shared_ptr<const Shapes> shapes = nullptr;  // of the record
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
  std::int64_t gap_ns = 0;       // before the call; the mean over the rounds of its line
  const Shape* shape = nullptr;  // null: the bytes are one block

  // Calls visit(offset, bytes) for each block, in order, until it returns false.
  template <typename Visit>
  void for_each_block(const Visit& visit) const {
    if (shape == nullptr) {
      if (bytes > 0) visit(offset, bytes);
      return;
    }
    for (const array::BytePattern& pattern : shape->patterns) {
      const bool all =
          bench::for_each_block(pattern, [&](std::int64_t behind, std::int64_t block_bytes) {
            return visit(offset + behind, block_bytes);
          });
      if (!all) return;
    }
  }
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

// Needs are what a rank has to do before and after it replays calls, so that every read finds
// bytes, and every byte that was written is compared.
//
// Ranks do not wait for each other while they replay, because the messages of the program are not
// recorded. So no rank depends on what another one does in time:
//   - Bytes that a rank reads and has not written itself before are written before the replay.
//   - A file that a rank opens only to read, and has not created itself before, is created before
//     the replay.
//   - A file that several ranks use is not made shorter. Nor is one that has bytes from before the
//     replay.
// A byte of a file always has the same value, which depends on its place; so the order in which
// ranks write makes no difference, either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "common/status.hpp"
#include "workloads/replay/byte_ranges.hpp"
#include "workloads/replay/record.hpp"

namespace weir::bench::replay {

// Ranges of all files of a rank, together.
inline constexpr std::size_t most_ranges = std::size_t{1} << 20;

struct FileNeeds {
  ByteRanges written;   // bytes that the rank leaves in the file
  ByteRanges prepared;  // bytes that it reads from before the replay
  bool exists = false;  // the file must exist before the replay
};

// Says what a rank leaves and needs, by number of the file.
using Needs = std::map<std::int64_t, FileNeeds>;

// Returns the needs of a rank that replays these ranks' records, one after the other. Fails if
// they have more than most_ranges ranges.
[[nodiscard]] Result<Needs> needs_of(std::span<const RankRecord* const> records,
                                     std::span<const FileFacts> files);

// Returns the length to which a replay truncates a file: not below `end` if others use it, or if it
// has bytes from before the replay.
[[nodiscard]] std::int64_t replayed_length(std::int64_t recorded, const FileFacts& file,
                                           bool has_earlier_bytes);

}  // namespace weir::bench::replay

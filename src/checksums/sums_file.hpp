// The file PATH.sums, which contains the checksums of PATH and lies beside it, whatever the format
// of PATH.
//
//     header | frame | frame | …        one frame for each step, in the order of commits
//
// A frame contains the number of steps from which on it is valid. It is written before the commit
// that gives the file this step, durably if durability is requested. If the file has fewer steps,
// because a run was killed in between, the frame is invalid, and it is cut off before the next
// step. No two frames contain checksums of the same byte: before bytes are written again, their
// checksums are removed and PATH.sums is replaced. If PATH.sums is missing or older than the file,
// fewer checksums are known, but a committed step never appears to be damaged.
//
// Numbers are little-endian; the sizes in bytes are in parentheses.
// clang-format off
//     header    "WEIRSUMS", version (4), 0 (4), bytes of a block (8), 0 (4),
//               crc32c of the 28 bytes before (4)
//     frame     "FRAM", crc32c of the payload (4), steps from which on it is valid (8),
//               bytes of the payload (8), 0 (4), crc32c of the 28 bytes before (4), payload
//     payload   number of data files (8); for each the length of its name (4) and the name; runs
//     run       number of the file (4), 0 (4), offset (8), bytes (8), checksum of each block (4)
// clang-format on
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checksums/sum_book.hpp"
#include "common/status.hpp"
#include "system/step_durability.hpp"

namespace weir::storage {

// Return the path of the checksums of PATH, and of PATH.incomplete.
[[nodiscard]] std::string sums_path(const std::string& path);
[[nodiscard]] std::string incomplete_sums_path(const std::string& path);

// ---- As values --------------------------------------------------------------------------------

[[nodiscard]] std::string sums_header(std::int64_t block_bytes = sum_block_bytes);
[[nodiscard]] std::string sums_frame(std::int64_t steps, std::span<const NamedRun> runs);

struct ParsedSums {
  SumBook book;
  // Offset in the text of the end of the last frame that is valid for these steps.
  std::int64_t counted_bytes = 0;
  // A line that describes the first unreadable part; the frames before it are valid.
  std::string damage;
};

// Returns the checksums in a text that are valid for a file with `steps` steps. A malicious text
// counts as damaged and never causes an allocation of more than a small multiple of its length.
[[nodiscard]] ParsedSums parse_sums(std::string_view text, std::int64_t steps);

// ---- Files ------------------------------------------------------------------------------------

// Longer checksum files are rejected. This length suffices for a file of 64 TiB.
inline constexpr std::int64_t longest_sums_file = std::int64_t{1} << 28;

// Returns the text of PATH.sums, or "" if it does not exist.
[[nodiscard]] Result<std::string> read_sums(const std::string& sums_file);
// Replaces the file by one with a single frame. The old file remains until the new file is
// complete.
Status replace_sums(const std::string& sums_file, const std::string& frame,
                    StepDurability durability, std::int64_t block_bytes = sum_block_bytes);
// Cuts off frames that are invalid for `steps` and unreadable parts. Removes the file if its header
// is unreadable; does nothing if it is missing. Returns false and changes nothing if no process
// would read the file, because it is too long or is not a regular file; no frame may then be
// appended.
Result<bool> cut_sums(const std::string& sums_file, std::int64_t steps);
// Appends a frame. Creates the file with a header if it does not exist.
Status append_sums(const std::string& sums_file, const std::string& frame,
                   StepDurability durability);
// Renames the checksum file after its data file was renamed.
Status rename_sums(const std::string& sums_file, const std::string& to, StepDurability durability);
// Removes the checksum file. Succeeds if it does not exist.
Status remove_sums(const std::string& sums_file, StepDurability durability);

}  // namespace weir::storage

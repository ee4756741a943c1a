// PATH.sums: the checksums of what is in PATH, beside it, whatever its format.
//
//     header | frame | frame | …        a frame for each step, in the order of commits
//
// A frame has the number of steps with which it counts and is written, durably where that is asked
// for, before the commit that gives the file this step. In a file with fewer steps, as a run leaves
// it that was killed in between, it says nothing, and it is cut off before the next step. No two
// frames speak of the same byte: what is written again is taken out before, and the file replaced.
// So a file without PATH.sums, or with an older one, is a file of which less is known, and a step
// that was committed never looks damaged.
//
// Numbers are little-endian. Header, 32 bytes: "WEIRSUMS", version (4 bytes), 0 (4), bytes of a
// block (8), 0 (4), crc32c of the 28 bytes before. Frame: "FRAM", crc32c of the payload (4), steps
// with which it counts (8), bytes of the payload (8), 0 (4), crc32c of the 28 bytes before,
// payload. Payload: how many data files (8), each as length (4) and name; then runs up to the end:
// number of the file (4), 0 (4), offset (8), bytes (8), and the sum of each block (4).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "storage/step_durability.hpp"
#include "storage/sums/sum_book.hpp"

namespace weir::storage {

// The file of checksums of PATH, and of PATH.incomplete.
[[nodiscard]] std::string sums_path(const std::string& path);
[[nodiscard]] std::string incomplete_sums_path(const std::string& path);

// ---- As values --------------------------------------------------------------------------------

[[nodiscard]] std::string sums_header(std::int64_t block_bytes = sum_block_bytes);
[[nodiscard]] std::string sums_frame(std::int64_t steps, std::span<const NamedRun> runs);

struct ParsedSums {
  SumBook book;
  // Where in the text the last frame ends that counts with these steps.
  std::int64_t counted_bytes = 0;
  // What cannot be read: a line; the frames before it are good.
  std::string damage;
};

// What a text says of a file with so many steps. Hostile texts are damaged ones, and never allocate
// more than a small multiple of their length.
[[nodiscard]] ParsedSums parse_sums(std::string_view text, std::int64_t steps);

// ---- Files ------------------------------------------------------------------------------------

// Longer ones are refused: of a file of 64 TiB.
inline constexpr std::int64_t longest_sums_file = std::int64_t{1} << 28;

// The text of PATH.sums, "" where there is none.
[[nodiscard]] Result<std::string> read_sums(const std::string& sums_file);
// Makes the file with one frame; what is there stays until it is whole.
Status replace_sums(const std::string& sums_file, const std::string& frame,
                    StepDurability durability, std::int64_t block_bytes = sum_block_bytes);
// Cuts off the frames that do not count with `steps`, and what cannot be read; a file whose header
// cannot be read is removed. A file that is missing stays so. False, and nothing is done: it is one
// that nobody reads, too long or no file, so it is not to be added to.
Result<bool> cut_sums(const std::string& sums_file, std::int64_t steps);
// Appends a frame, to a file with a header alone where there is none.
Status append_sums(const std::string& sums_file, const std::string& frame,
                   StepDurability durability);
// Under another name, when the file that it is of has got another one.
Status rename_sums(const std::string& sums_file, const std::string& to, StepDurability durability);
// Succeeds when there is none.
Status remove_sums(const std::string& sums_file, StepDurability durability);

}  // namespace weir::storage

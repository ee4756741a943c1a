// The reader of records of programs, and what a replay does with one before it makes its calls.
#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "readers.hpp"
#include "seeds.hpp"
#include "workloads/replay/needs.hpp"
#include "workloads/replay/record.hpp"

namespace weir::fuzz {
namespace {

using bench::replay::CallCursor;
using bench::replay::Record;
using bench::replay::ReplayedCall;
using Complaint = std::optional<std::string>;

constexpr std::int64_t most_calls_made = 4096;
constexpr std::int64_t most_calls_counted = 16;

// The calls of a rank are those that its sums tell, each within the limits.
Complaint check_rank(const Record& record, std::size_t rank) {
  const bench::replay::RankSums& sums = record.sums[rank];
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  CallCursor cursor(record.ranks[rank]);
  ReplayedCall call;
  while (calls < most_calls_made && cursor.next(&call)) {
    ++calls;
    if (call.file < 0 || call.file >= std::ssize(record.files)) return "a call on no file";
    if (call.offset < 0 || call.offset > bench::replay::most_file_bytes) {
      return fmt::format("a call at offset {}", call.offset);
    }
    if (call.gap_ns < 0) return "a negative time";
    if (!calls::moves_bytes(call.kind)) continue;
    const auto& file = record.files[static_cast<std::size_t>(call.file)];
    // The blocks of the first calls are counted: those of all may be many.
    std::int64_t in_blocks = calls <= most_calls_counted ? 0 : call.bytes;
    std::int64_t end = calls <= most_calls_counted ? 0 : call.offset;
    if (calls <= most_calls_counted) {
      call.for_each_block([&](std::int64_t offset, std::int64_t block_bytes) {
        if (offset < end && end > 0) in_blocks = -1;
        end = offset + block_bytes;
        in_blocks += block_bytes;
        return true;
      });
    }
    const std::int64_t least = calls::is_collective(call.kind) ? 0 : 1;
    if (call.bytes < least || call.bytes > sums.largest_bytes || in_blocks != call.bytes ||
        end > file.end) {
      return fmt::format("a call of {} bytes at offset {}", call.bytes, call.offset);
    }
    bytes += call.bytes;
  }
  if (calls == most_calls_made) return std::nullopt;
  if (calls != sums.calls) return fmt::format("{} calls instead of {}", calls, sums.calls);
  if (bytes != sums.bytes_read + sums.bytes_written) return "another number of bytes";
  const auto* const one = &record.ranks[rank];
  static_cast<void>(bench::replay::needs_of({&one, 1}, record.files));
  return std::nullopt;
}

}  // namespace

Complaint read_record(std::span<const std::byte> bytes, const std::string& /*folder*/) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto keep_even = [](std::int64_t rank) { return rank % 2 == 0; };
  const auto record = bench::replay::parse_record(text, keep_even);
  if (!record) return std::nullopt;
  for (std::size_t rank = 0; rank < record.value().ranks.size(); rank += 2) {
    if (auto complaint = check_rank(record.value(), rank)) {
      return fmt::format("rank {}: {}", rank, *complaint);
    }
  }
  return std::nullopt;
}

// Records of a program with loops in loops over files with successive numbers, of one with
// collective calls of several blocks, and of a program without calls.
std::vector<Bytes> record_seeds(const std::string& /*folder*/) {
  const std::string_view loops =
      "weir-record 1\ncommand\t./solver\nfile\t/s/a\nfile\t/s/b\nfile\t/s/c\n"
      "rank\t6\t0\t0\t0-2\nloop\t3\t5\t2\nopen\t1\t0\t0\t3\t200\t0\t5\t0\t0\t0\t0\t0\t1\n"
      "loop\t2\t1\t1\nwrite\t3\t0\t8\t10\t40\t16\t7\t100\t0\t1000\t0\t5\t1\n"
      "read\t1\t0\t8\t10\t0\t0\t7\t0\t0\t0\t0\t0\t1\n"
      "close\t1\t0\t0\t0\t0\t0\t9\t0\t0\t0\t0\t0\t1\n"
      "rank\t1\t2\t30\t2,0-1\nwrite\t3\t2\t0\t4\t0\t0\t0\t0\t-1\n"
      "rank\t3\t0\t0\t1\ntruncate\t1\t0\t99\t0\t1\t0\t1\nsync\t1\t0\t0\t0\t1\t0\t1\n"
      "write\t4\t0\t90\t10\t1\t1\t1\t-30\t0\n"
      "end\t3\t3\n";
  const std::string_view blocks =
      "weir-record 2\ncommand\t./solver\nfile\t/s/a\n"
      "shape\t0\t64\t2\t3\t4096\t4\t256\nshape\t0\t8\t0\t24\t2\t1\t2\t6\n"
      "rank\t4\t0\t0\t0\nopen\t1\t0\t0\t19\t0\t0\t1\n"
      "write_all\t3\t0\t0\t768:0\t10\t40\t16\t65536\t0\n"
      "read_all\t1\t0\t8\t12:1\t0\t0\t7\nread_all\t1\t0\t0\t0\t0\t0\t7\n"
      "end\t1\t1\n";
  const std::string_view none = "weir-record 1\ncommand\tx\nrank\t0\t0\t0\t-\nend\t0\t1\n";
  std::vector<Bytes> seeds;
  for (const std::string_view text : {loops, blocks, none}) {
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    seeds.emplace_back(first, first + text.size());
  }
  return seeds;
}

}  // namespace weir::fuzz

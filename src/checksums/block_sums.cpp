#include "checksums/block_sums.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

#include "common/crc32c.hpp"

namespace weir::storage {
namespace {

// A run consists of these numbers: array, file, offset, bytes, turn, and the checksums, two in each
// number. A run of 0 bytes is an unclear block.
constexpr std::size_t numbers_before_sums = 5;

// Maximum number of runs of a block. It is limited because a place in a file takes as much room as
// six checksums.
constexpr std::size_t most_runs = 16;

std::size_t numbers_of_sums(std::size_t sums) { return (sums + 1) / 2; }

}  // namespace

std::int64_t blocks_in(std::int64_t offset, std::int64_t bytes, std::int64_t block_bytes) {
  return (offset + bytes - 1) / block_bytes - offset / block_bytes + 1;
}

std::uint32_t sum_of(std::span<const Slice> slices, std::int64_t skipped, std::int64_t bytes,
                     std::uint32_t before) {
  for (const Slice& slice : slices) {
    if (bytes == 0) break;
    if (skipped >= slice.bytes) {
      skipped -= slice.bytes;
      continue;
    }
    const std::int64_t part = std::min(bytes, slice.bytes - skipped);
    before = crc32c({slice.data + skipped, static_cast<std::size_t>(part)}, before);
    skipped = 0;
    bytes -= part;
  }
  return before;
}

void BlockSums::clear() {
  blocks_.clear();
  loose_ = 0;
}

void BlockSums::give_up(Parts& block) {
  if (block.parts.size() > 1) loose_ -= block.parts.size() - 1;
  block.unclear = true;
  block.parts.clear();
  block.parts.shrink_to_fit();
}

void BlockSums::add(std::int64_t file, std::int64_t offset, std::int64_t bytes,
                    std::span<const Slice> slices, std::int64_t skipped) {
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t at = offset + done;
    const std::int64_t begin = at / block_bytes_ * block_bytes_;
    const std::int64_t part = std::min(bytes - done, begin + block_bytes_ - at);
    Parts& block = blocks_[{file, begin}];
    if (!block.parts.empty() && block.parts.back().end == at && block.parts.back().turn == turn_) {
      Part& last = block.parts.back();
      last.sum = sum_of(slices, skipped + done, part, last.sum);
      last.end = at + part;
    } else if (!block.unclear) {
      insert(block, {at, at + part, sum_of(slices, skipped + done, part), turn_});
    }
    done += part;
  }
}

void BlockSums::add(const BlockSums& other) {
  for (const auto& [block, theirs] : other.blocks_) {
    Parts& ours = blocks_[block];
    if (theirs.unclear) give_up(ours);
    for (const Part& part : theirs.parts) insert(ours, part);
  }
}

void BlockSums::insert(Parts& block, const Part& part) {
  if (block.unclear) return;
  std::vector<Part>& parts = block.parts;
  const std::size_t before = parts.size();
  auto at = std::lower_bound(
      parts.begin(), parts.end(), part,
      [](const Part& earlier, const Part& later) { return earlier.end <= later.begin; });
  auto last = at;
  for (; last != parts.end() && last->begin < part.end; ++last) {
    const bool covered = part.begin <= last->begin && last->end <= part.end;
    if (!covered || last->turn >= part.turn) return give_up(block);
  }
  at = parts.insert(parts.erase(at, last), part);
  const auto joins = [](const Part& first, const Part& second) {
    return first.end == second.begin && first.turn == second.turn;
  };
  const auto join = [&](std::vector<Part>::iterator first) {
    const auto second = first + 1;
    first->sum = crc32c_combined(first->sum, second->sum, second->end - second->begin);
    first->end = second->end;
    parts.erase(second);
  };
  if (at + 1 != parts.end() && joins(*at, *(at + 1))) join(at);
  if (at != parts.begin() && joins(*(at - 1), *at)) join(at - 1);
  const auto loose_of = [](std::size_t count) { return count > 1 ? count - 1 : 0; };
  loose_ += loose_of(parts.size());
  loose_ -= loose_of(before);
  if (loose_ > most_loose_) give_up(block);
}

void BlockSums::tell(std::int64_t array, std::vector<std::int64_t>& numbers) const {
  std::size_t head = 0;  // head of the run that the next part may continue
  std::size_t sums = 0;
  for (const auto& [block, kept] : blocks_) {
    if (kept.unclear) numbers.insert(numbers.end(), {array, block.file, block.begin, 0, 0});
    if (kept.unclear) sums = 0;
    for (const Part& part : kept.parts) {
      const bool goes_on = sums > 0 && numbers[head + 1] == block.file &&
                           part.begin == block.begin && numbers[head + 4] == part.turn &&
                           numbers[head + 2] + numbers[head + 3] == part.begin;
      if (!goes_on) {
        head = numbers.size();
        sums = 0;
        numbers.insert(numbers.end(), {array, block.file, part.begin, 0, part.turn});
      }
      numbers[head + 3] = part.end - numbers[head + 2];
      if (sums % 2 == 0) {
        numbers.push_back(part.sum);
      } else {
        numbers.back() |= static_cast<std::int64_t>(std::uint64_t{part.sum} << 32U);
      }
      ++sums;
    }
  }
}

std::map<std::int64_t, BlockSums> BlockSums::told(std::span<const std::int64_t> numbers,
                                                  std::int64_t block_bytes) {
  struct Run {
    std::int64_t turn = 0;
    std::size_t at = 0;
  };
  std::vector<Run> runs;
  for (std::size_t at = 0; at + numbers_before_sums <= numbers.size();) {
    runs.push_back({numbers[at + 4], at});
    const std::int64_t bytes = numbers[at + 3];
    const std::int64_t sums = bytes > 0 ? blocks_in(numbers[at + 2], bytes, block_bytes) : 0;
    at += numbers_before_sums + numbers_of_sums(static_cast<std::size_t>(sums));
  }
  // Orders the runs by turn and then by place, so that adjacent parts follow each other.
  std::sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) {
    return std::tuple(a.turn, numbers[a.at], numbers[a.at + 1], numbers[a.at + 2]) <
           std::tuple(b.turn, numbers[b.at], numbers[b.at + 1], numbers[b.at + 2]);
  });
  std::map<std::int64_t, BlockSums> arrays;
  for (const Run& run : runs) {
    const std::int64_t file = numbers[run.at + 1];
    const std::int64_t offset = numbers[run.at + 2];
    const std::int64_t bytes = numbers[run.at + 3];
    BlockSums& array =
        arrays.try_emplace(numbers[run.at], std::numeric_limits<std::size_t>::max(), block_bytes)
            .first->second;
    if (bytes == 0) {
      array.add_unclear({file, offset});
      continue;
    }
    std::size_t number = 0;
    for (std::int64_t done = 0; done < bytes; ++number) {
      const std::int64_t begin = (offset + done) / block_bytes * block_bytes;
      const std::int64_t part = std::min(bytes - done, begin + block_bytes - offset - done);
      const auto two =
          static_cast<std::uint64_t>(numbers[run.at + numbers_before_sums + number / 2]);
      const auto sum = static_cast<std::uint32_t>(number % 2 == 0 ? two : two >> 32U);
      array.insert(array.blocks_[{file, begin}],
                   {offset + done, offset + done + part, sum, run.turn});
      done += part;
    }
  }
  return arrays;
}

bool BlockSums::in_many(const std::vector<Part>& parts) {
  // Parts that were read again have turn 0, and each of them is a place of the array. Such a block
  // may have many parts.
  if (!parts.empty() && parts.front().turn == 0) return false;
  std::size_t runs = 1;
  for (std::size_t i = 1; i < parts.size(); ++i) runs += parts[i].begin > parts[i - 1].end ? 1 : 0;
  return runs > most_runs;
}

std::vector<SummedRun> BlockSums::runs() const {
  std::vector<SummedRun> runs;
  for (const auto& [block, kept] : blocks_) {
    if (in_many(kept.parts)) continue;
    bool first = true;
    for (const Part& part : kept.parts) {
      const bool touches = !runs.empty() && runs.back().file == block.file &&
                           runs.back().offset + runs.back().bytes == part.begin;
      if (touches && !first) {
        std::uint32_t& sum = runs.back().sums.back();
        sum = crc32c_combined(sum, part.sum, part.end - part.begin);
      } else if (touches) {
        runs.back().sums.push_back(part.sum);
      } else {
        runs.push_back({block.file, part.begin, 0, {part.sum}});
      }
      runs.back().bytes = part.end - runs.back().offset;
      first = false;
    }
  }
  return runs;
}

std::vector<BlockSums::Block> BlockSums::unclear() const {
  std::vector<Block> found;
  for (const auto& [block, kept] : blocks_) {
    if (kept.unclear || in_many(kept.parts)) found.push_back(block);
  }
  return found;
}

}  // namespace weir::storage

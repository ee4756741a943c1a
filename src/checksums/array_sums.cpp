#include "checksums/array_sums.hpp"

#include <algorithm>

#include "checksums/block_owner.hpp"
#include "common/crc32c.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t read_at_once = 1 << 20;
// If the whole array was read, a process completes this many incomplete blocks, and one more for
// each `verified_for_each` blocks that it has verified.
constexpr std::int64_t completed_anyway = 4;
constexpr std::int64_t verified_for_each = 16;

std::int64_t bytes_of_range(const StoredRange& range) {
  std::int64_t bytes = 0;
  for (const Slice& slice : range.slices) bytes += slice.bytes;
  return bytes;
}

}  // namespace

void ArraySums::set_place(const ExtentMap& map, std::optional<std::int64_t> step) {
  numbers_.clear();
  map_ = &map;
  step_ = step;
  places_.reset();
  if (written_) written_->clear();
}

void ArraySums::collect(std::size_t most_loose) {
  written_.emplace(most_loose);
  watching_ = true;
}

void ArraySums::set_turn(std::int64_t turn) {
  if (written_) written_->set_turn(turn);
}

const ArrayPlaces& ArraySums::places() {
  if (!places_) places_ = map_ != nullptr ? ArrayPlaces::of(*map_, step_) : ArrayPlaces();
  return *places_;
}

void ArraySums::writes(const StoredRange& range) {
  if (!written_ || places().places().empty()) return;
  const std::int64_t range_end = range.offset + bytes_of_range(range);
  const ArrayPlaces::Place& first = places().places().front();
  const ArrayPlaces::Place& last = places().places().back();
  if (range.file < first.file || range.file > last.file ||
      (range.file == first.file && range_end <= first.begin) ||
      (range.file == last.file && range.offset >= last.end)) {
    return;
  }
  places().for_each_in(
      range.file, range.offset, range_end, [&](std::int64_t begin, std::int64_t end) {
        written_->add(range.file, begin, end - begin, range.slices, begin - range.offset);
      });
}

std::int64_t ArraySums::known_as(std::int64_t file) {
  const auto [at, fresh] = numbers_.try_emplace(file, -1);
  if (fresh && map_ != nullptr) {
    const auto name = name_below(path_, map_->files.path(file));
    if (name) at->second = known_->book().number_of(*name);
  }
  return at->second;
}

Status ArraySums::compare(std::int64_t known, const SumBook::Block& block,
                          std::uint32_t sum) const {
  if (sum == block.sum || !known_->is_damaged(known, block, sum)) return {};
  return BlockOwners(*file_, path_).differing_block(known_->book().name_of(known), block, sum);
}

Status ArraySums::has_read(const StoredRange& range) {
  if (!known_ || known_->book().empty() || completing_) return {};
  const std::int64_t known = known_as(range.file);
  if (known < 0) return {};
  std::int64_t offset = range.offset;
  for (std::span<const Slice> left = range.slices; !left.empty();) {
    if (left.front().data == range.discarded) {
      offset += left.front().bytes;
      left = left.subspan(1);
      continue;
    }
    const auto hole = std::find_if(left.begin(), left.end(), [&](const Slice& slice) {
      return slice.data == range.discarded;
    });
    const StoredRange kept{range.file, offset,
                           left.first(static_cast<std::size_t>(hole - left.begin()))};
    if (Status status = verify_kept(known, kept); !status.ok()) return status;
    offset += bytes_of_range(kept);
    left = left.subspan(kept.slices.size());
  }
  return {};
}

Status ArraySums::verify_kept(std::int64_t known, const StoredRange& range) {
  const std::int64_t end = range.offset + bytes_of_range(range);
  Status status;
  known_->book().for_each_block(known, range.offset, end, [&](const SumBook::Block& block) {
    const std::int64_t from = std::max(block.begin, range.offset);
    const std::int64_t to = std::min(block.end, end);
    const auto sum_from = [&](std::uint32_t before) {
      return sum_of(range.slices, from - range.offset, to - from, before);
    };
    if (from == block.begin && to == block.end) {
      ++verified_;
      status = compare(known, block, sum_from(0));
      return status.ok();
    }
    const auto at = incomplete_.find({range.file, block.begin});
    if (at != incomplete_.end() && at->second.parts.back().end == from && to < block.end) {
      Part& last = at->second.parts.back();  // the usual order of the parts of a long transfer
      last.sum = sum_from(last.sum);
      last.end = to;
    } else {
      status = read_part(range.file, block, {from, to, sum_from(0)});
    }
    return status.ok();
  });
  return status;
}

Status ArraySums::read_part(std::int64_t file, const SumBook::Block& block, const Part& part) {
  if (parts_ >= most_parts) return {};
  const auto at = incomplete_.try_emplace({file, block.begin}, Incomplete{block, {}}).first;
  std::vector<Part>& parts = at->second.parts;
  const auto next = std::lower_bound(
      parts.begin(), parts.end(), part,
      [](const Part& earlier, const Part& later) { return earlier.end <= later.begin; });
  // A part that overlaps an earlier part is ignored.
  if (next != parts.end() && next->begin < part.end) return {};
  auto own = parts.insert(next, part);
  ++parts_;
  const auto join = [&](std::vector<Part>::iterator first) {
    const auto second = first + 1;
    first->sum = crc32c_combined(first->sum, second->sum, second->end - second->begin);
    first->end = second->end;
    parts.erase(second);
    --parts_;
  };
  if (own + 1 != parts.end() && own->end == (own + 1)->begin) join(own);
  if (own != parts.begin() && (own - 1)->end == own->begin) join(own - 1);
  const Part& first = parts.front();
  if (first.begin != block.begin || first.end != block.end) return {};
  ++verified_;
  Status status = compare(known_as(file), block, first.sum);
  --parts_;
  incomplete_.erase(at);
  return status;
}

void ArraySums::give_up_reading() {
  incomplete_.clear();
  parts_ = 0;
  verified_ = 0;
}

Status ArraySums::end_reading(Completing which, const ReadMore& read_more) {
  Status status;
  completing_ = true;
  std::int64_t left =
      which == Completing::of_whole ? completed_anyway + verified_ / verified_for_each : 0;
  for (const auto& [key, one] : incomplete_) {
    std::int64_t there = 0;
    for (const Part& part : one.parts) there += part.end - part.begin;
    const std::int64_t bytes = one.block.end - one.block.begin;
    const bool nearly_whole = there >= bytes - bytes / 4;
    if (!nearly_whole && which != Completing::all && --left < 0) continue;
    status = complete(key.first, one, read_more);
    if (!status.ok()) break;
  }
  completing_ = false;
  give_up_reading();
  return status;
}

Status ArraySums::complete(std::int64_t file, const Incomplete& one, const ReadMore& read_more) {
  std::vector<std::byte> room;
  std::uint32_t sum = 0;
  std::int64_t at = one.block.begin;
  const auto read_to = [&](std::int64_t end) -> Status {
    while (at < end) {
      const std::int64_t bytes = std::min(end - at, read_at_once);
      room.resize(static_cast<std::size_t>(bytes));
      const Slice slice{room.data(), bytes};
      if (Status read = read_more({file, at, {&slice, 1}}); !read.ok()) return read;
      sum = crc32c(room, sum);
      at += bytes;
    }
    return {};
  };
  for (const Part& part : one.parts) {
    if (Status read = read_to(part.begin); !read.ok()) return read;
    sum = crc32c_combined(sum, part.sum, part.end - part.begin);
    at = part.end;
  }
  if (Status read = read_to(one.block.end); !read.ok()) return read;
  return compare(known_as(file), one.block, sum);
}

}  // namespace weir::storage

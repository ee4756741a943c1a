#include "plan/piece_extents.hpp"

#include <algorithm>
#include <utility>

#include "plan/meeting_blocks.hpp"

namespace weir::plan {
namespace {

// So few blocks are compared with each other.
constexpr std::size_t most_compared = 64;

std::int64_t end_of(const array::UniformBlocks& blocks) {
  return blocks.start + (blocks.count - 1) * (blocks.count > 1 ? blocks.stride : 0) + blocks.length;
}

// Returns whether one lies behind the other along a dimension, so that they have no element in
// common.
bool are_apart(const array::UniformRegion& one, const array::UniformRegion& other) {
  for (int d = 0; d < one.size(); ++d) {
    if (end_of(one[d]) <= other[d].start || end_of(other[d]) <= one[d].start) return true;
  }
  return false;
}

bool are_all_apart(const std::vector<MeetingBlock>& blocks) {
  if (blocks.size() > most_compared) return false;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (blocks[i].slab == blocks[j].slab && !are_apart(blocks[i].in_slab, blocks[j].in_slab)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

PieceExtents::PieceExtents(const Piece& piece) {
  for (std::size_t slab = 0; slab < piece.slabs.size(); ++slab) {
    copies_.push_back({piece.slabs[slab].file, slab, buffer_to_file(piece.slabs[slab])});
  }
}

PieceExtents::PieceExtents(const Plan& plan, const Piece& piece,
                           const std::vector<Contributor>& contributors) {
  // Where holders are disjoint, as those of a regular distribution are, the sum of their bytes
  // shows whether there are holes. Without holes the piece has few extents; its rows may be very
  // many.
  const bool disjoint = std::all_of(piece.slabs.begin(), piece.slabs.end(), [&](const Slab& slab) {
    const auto array = static_cast<std::size_t>(slab.array);
    return plan.request().arrays[array].memory->regular() != nullptr;
  });
  std::int64_t held = 0;
  for (const Contributor& one : contributors) held += one.bytes;
  if (held == piece.bytes && disjoint) {
    *this = PieceExtents(piece);
    return;
  }
  std::vector<MeetingBlock> all;
  for (const Contributor& one : contributors) {
    MeetingBlocks blocks(plan, piece, one.rank);
    for (MeetingBlock block; blocks.next(block);) all.push_back(block);
  }
  if (held == piece.bytes && are_all_apart(all)) {
    *this = PieceExtents(piece);
    return;
  }
  for (const MeetingBlock& block : all) {
    const Slab& slab = piece.slabs[block.slab];
    copies_.push_back({slab.file, block.slab, buffer_to_file(block, slab)});
  }
  std::stable_sort(copies_.begin(), copies_.end(),
                   [](const Copy& a, const Copy& b) { return a.slab < b.slab; });
}

void PieceExtents::begin_slab() {
  sources_.clear();
  const std::size_t slab = copies_[next_copy_].slab;
  for (; next_copy_ < copies_.size() && copies_[next_copy_].slab == slab; ++next_copy_) {
    Source source{array::CopyRuns(copies_[next_copy_].copy), {copies_[next_copy_].file, 0, 0, 0}};
    source.next.bytes = source.runs.bytes();
    if (source.runs.next(source.next.buffer_offset, source.next.offset)) {
      order_.emplace(source.next.offset, sources_.size());
      sources_.push_back(source);
    }
  }
}

bool PieceExtents::next_run(FileExtent& run) {
  while (order_.empty()) {
    if (next_copy_ >= copies_.size()) return false;
    begin_slab();
  }
  const std::size_t number = order_.top().second;
  order_.pop();
  Source& source = sources_[number];
  run = source.next;
  if (source.runs.next(source.next.buffer_offset, source.next.offset)) {
    order_.emplace(source.next.offset, number);
  }
  return true;
}

bool PieceExtents::next(FileExtent& extent) {
  if (next_known_ < known_.size()) {
    extent = known_[next_known_++];
    return true;
  }
  FileExtent run;
  while (next_run(run)) {
    if (!has_waiting_) {
      waiting_ = run;
      has_waiting_ = true;
      continue;
    }
    // Within a slab, offsets in the buffer and in the file advance together, so an overlap in one
    // is an overlap in the other.
    const std::int64_t ahead = run.offset - waiting_.offset;
    if (run.file == waiting_.file && ahead >= 0 && ahead <= waiting_.bytes &&
        run.buffer_offset - waiting_.buffer_offset == ahead) {
      waiting_.bytes = std::max(waiting_.bytes, ahead + run.bytes);
      continue;
    }
    extent = std::exchange(waiting_, run);
    return true;
  }
  if (!has_waiting_) return false;
  extent = waiting_;
  has_waiting_ = false;
  return true;
}

}  // namespace weir::plan

#include "plan/kept_bundles.hpp"

#include <algorithm>

#include "plan/meeting_blocks.hpp"

namespace weir::plan {
namespace {

// Of a bundle: its arrays are short, but may be asked for with holes.
constexpr std::size_t most_kept_extents = 4096;

}  // namespace

const KeptBundles::Copies& KeptBundles::copies(const Piece& piece, const LayoutOf& layout_of) {
  Kept& kept = kept_[piece.id.array];
  const auto as_before = [&](const Held& one) {
    return one.layout == layout_of(one.array, one.part);
  };
  if (kept.has_copies && std::all_of(kept.memory.begin(), kept.memory.end(), as_before)) {
    return kept.copies;
  }
  kept.memory.clear();
  kept.copies = {};
  kept.has_copies = true;
  const bool writing = plan_->request().direction == Direction::write;
  MeetingBlocks blocks(*plan_, piece, rank_);
  for (MeetingBlock block; blocks.next(block);) {
    const Slab& slab = piece.slabs[block.slab];
    const array::Layout& memory = layout_of(slab.array, block.part);
    kept.memory.push_back({slab.array, block.part, memory});
    const array::StridedCopy copy =
        writing ? memory_to_buffer(block, memory, slab) : buffer_to_memory(block, memory, slab);
    if (copy.levels.empty()) {
      kept.copies.runs.push_back({slab.array, block.part,
                                  writing ? copy.from_offset : copy.to_offset,
                                  writing ? copy.to_offset : copy.from_offset, copy.bytes});
    } else {
      kept.copies.others.push_back({slab.array, block.part, copy});
    }
    kept.copies.bytes += block.bytes;
  }
  return kept.copies;
}

const std::vector<Contributor>& KeptBundles::contributors(const Piece& piece) {
  Kept& kept = kept_[piece.id.array];
  if (!kept.contributors) kept.contributors = plan_->contributors(piece);
  return *kept.contributors;
}

PieceExtents KeptBundles::extents(const Piece& piece) {
  Kept& kept = kept_[piece.id.array];
  const auto found = [&] {
    return plan_->holds_everything(piece.id) ? PieceExtents(piece)
                                             : PieceExtents(*plan_, piece, contributors(piece));
  };
  if (kept.many_extents) return found();
  if (!kept.extents) {
    PieceExtents all = found();
    std::vector<FileExtent> few;
    for (FileExtent extent; all.next(extent);) {
      kept.many_extents = few.size() >= most_kept_extents;
      if (kept.many_extents) return found();
      few.push_back(extent);
    }
    kept.extents = std::move(few);
  }
  return PieceExtents(*kept.extents);
}

}  // namespace weir::plan

#include "plan/cached_bundles.hpp"

#include "plan/meeting_blocks.hpp"

namespace weir::plan {
namespace {

// Largest number of extents that are kept for a bundle. The arrays of a bundle are short, but
// requests may have holes in them.
constexpr std::size_t most_kept_extents = 4096;

}  // namespace

bool CachedBundles::is_as_before(const Kept& kept, const LayoutOf& layout_of) {
  const array::Layout* equal = nullptr;  // equal to the layout with this number
  std::size_t number = 0;
  for (const Held& one : kept.memory) {
    const array::Layout& now = layout_of(one.array, one.part);
    if (&now == equal && one.layout == number) continue;
    if (now != kept.layouts[one.layout]) return false;
    equal = &now;
    number = one.layout;
  }
  return true;
}

const CachedBundles::Copies& CachedBundles::copies(const Piece& piece, const LayoutOf& layout_of) {
  Kept& kept = kept_[piece.id.array];
  if (kept.has_copies && is_as_before(kept, layout_of)) return kept.copies;
  kept.memory.clear();
  kept.layouts.clear();
  kept.copies = {};
  kept.has_copies = true;
  const bool writing = plan_->request().direction == Direction::write;
  MeetingBlocks blocks(*plan_, piece, rank_);
  for (MeetingBlock block; blocks.next(block);) {
    const Slab& slab = piece.slabs[block.slab];
    const array::Layout& memory = layout_of(slab.array, block.part);
    if (kept.layouts.empty() || kept.layouts.back() != memory) kept.layouts.push_back(memory);
    kept.memory.push_back({slab.array, block.part, kept.layouts.size() - 1});
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

const std::vector<Contributor>& CachedBundles::contributors(const Piece& piece) {
  Kept& kept = kept_[piece.id.array];
  if (!kept.contributors) kept.contributors = plan_->contributors(piece);
  return *kept.contributors;
}

std::vector<Contributor> CachedBundles::contributors_on_node(const Piece& piece) {
  const std::int64_t node = plan_->topology().node_of(rank_);
  if (plan_->bundle(piece.id.array) == nullptr) return plan_->contributors_on(node, piece);
  Kept& kept = kept_[piece.id.array];
  if (!kept.on_node) kept.on_node = plan_->contributors_on(node, piece);
  return *kept.on_node;
}

PieceExtents CachedBundles::extents(const Piece& piece) {
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

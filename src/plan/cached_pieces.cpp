#include "plan/cached_pieces.hpp"

#include "plan/meeting_blocks.hpp"

namespace weir::plan {
namespace {

// Largest number of extents that are kept for a bundle. The arrays of a bundle are short, but
// requests may have holes in them.
constexpr std::size_t most_kept_extents = 4096;
// Largest numbers for all pieces that are no bundles: pieces, and their slabs, layouts, copies,
// extents and contributors, of which none takes more than some 1.3 kB.
constexpr std::size_t most_kept_pieces = 256;
constexpr std::size_t most_kept_items = 1024;
// Largest number of items of one kind for such a piece. One with more takes much longer to move
// than to compute.
constexpr std::size_t most_items_of_a_piece = 64;

// Returns the list of pieces that a generator finds; null if there are too many.
template <typename Generator>
std::shared_ptr<const std::vector<PieceId>> listed(Generator pieces) {
  std::vector<PieceId> all;
  for (PieceId id; pieces.next(id);) {
    if (all.size() == most_kept_pieces) return nullptr;
    all.push_back(id);
  }
  return std::make_shared<const std::vector<PieceId>>(std::move(all));
}

}  // namespace

PieceOrder<RankPieces> CachedPieces::of_rank() {
  RankPieces pieces(plan_, rank_);
  if (of_rank_ == nullptr && !many_of_rank_) {
    of_rank_ = listed(pieces);
    many_of_rank_ = of_rank_ == nullptr;
  }
  if (many_of_rank_) return PieceOrder<RankPieces>(std::move(pieces));
  return PieceOrder<RankPieces>(of_rank_);
}

PieceOrder<AggregatorPieces> CachedPieces::of_aggregator(std::int64_t aggregator) {
  AggregatorPieces pieces(plan_, aggregator);
  if (of_aggregator_ == nullptr && !many_of_aggregator_) {
    of_aggregator_ = listed(pieces);
    many_of_aggregator_ = of_aggregator_ == nullptr;
  }
  if (many_of_aggregator_) return PieceOrder<AggregatorPieces>(std::move(pieces));
  return PieceOrder<AggregatorPieces>(of_aggregator_);
}

std::int64_t CachedPieces::rank_of(std::int64_t aggregator) {
  const auto number = static_cast<std::size_t>(aggregator);
  if (number >= most_kept_pieces) return plan_->rank_of(aggregator);
  if (number >= ranks_.size()) ranks_.resize(number + 1, -1);
  std::int64_t& rank = ranks_[number];
  if (rank < 0) rank = plan_->rank_of(aggregator);
  return rank;
}

Piece CachedPieces::piece(const PieceId& id) {
  if (is_bundle(id)) return plan_->piece(id);
  const auto found = pieces_.find(id);
  if (found != pieces_.end()) return *found->second.piece;
  Piece piece = plan_->piece(id);
  if (pieces_.size() < most_kept_pieces && takes(id, piece.slabs.size())) {
    pieces_[id].piece = piece;
  }
  return piece;
}

CachedPieces::Kept* CachedPieces::kept(const Piece& piece) {
  if (is_bundle(piece.id)) return &bundles_[piece.id.array];
  const auto found = pieces_.find(piece.id);
  return found == pieces_.end() ? nullptr : &found->second;
}

bool CachedPieces::takes(const PieceId& id, std::size_t items) {
  if (is_bundle(id)) return true;
  if (items > most_items_of_a_piece || items_ + items > most_kept_items) return false;
  items_ += items;
  return true;
}

bool CachedPieces::is_as_before(const Kept& kept, const LayoutOf& layout_of) {
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

const CachedPieces::Copies* CachedPieces::copies(const Piece& piece, const LayoutOf& layout_of) {
  Kept* const known = kept(piece);
  if (known == nullptr || known->many_copies) return nullptr;
  if (known->has_copies && is_as_before(*known, layout_of)) return &known->copies;
  items_ -= known->copies_items;
  known->copies_items = 0;
  known->memory.clear();
  known->layouts.clear();
  known->copies = {};
  known->has_copies = make_copies(piece, layout_of, *known);
  if (known->has_copies) return &known->copies;
  known->many_copies = true;
  known->memory = {};
  known->layouts = {};
  known->copies = {};
  return nullptr;
}

bool CachedPieces::make_copies(const Piece& piece, const LayoutOf& layout_of, Kept& kept) {
  const bool in_bundle = is_bundle(piece.id);
  const bool writing = plan_->request().direction == Direction::write;
  MeetingBlocks blocks(*plan_, piece, rank_);
  for (MeetingBlock block; blocks.next(block);) {
    if (!in_bundle && kept.memory.size() == most_items_of_a_piece) return false;
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
  if (in_bundle) return true;
  // There are as many copies as elements of `memory`.
  if (!takes(piece.id, kept.memory.size())) return false;
  kept.copies_items = kept.memory.size();
  return true;
}

void CachedPieces::find_contributors(const Piece& piece, std::vector<Contributor>& found) {
  Kept* const known = kept(piece);
  if (known != nullptr && known->contributors) {
    found = *known->contributors;
    return;
  }
  found = plan_->contributors(piece);
  if (known != nullptr && takes(piece.id, found.size())) known->contributors = found;
}

std::vector<Contributor> CachedPieces::contributors_on_node(const Piece& piece) {
  Kept* const known = kept(piece);
  if (known != nullptr && known->on_node) return *known->on_node;
  auto found = plan_->contributors_on(plan_->topology().node_of(rank_), piece);
  if (known != nullptr && takes(piece.id, found.size())) known->on_node = found;
  return found;
}

PieceExtents CachedPieces::extents(const Piece& piece,
                                   const std::vector<Contributor>& contributors) {
  const auto found = [&] {
    return plan_->holds_everything(piece.id) ? PieceExtents(piece)
                                             : PieceExtents(*plan_, piece, contributors);
  };
  Kept* const known = kept(piece);
  if (known == nullptr || known->many_extents) return found();
  if (!known->extents) {
    const std::size_t most = is_bundle(piece.id) ? most_kept_extents : most_items_of_a_piece;
    PieceExtents all = found();
    std::vector<FileExtent> few;
    for (FileExtent extent; all.next(extent);) {
      known->many_extents = few.size() >= most;
      if (known->many_extents) return found();
      few.push_back(extent);
    }
    known->many_extents = !takes(piece.id, few.size());
    if (known->many_extents) return found();
    known->extents = std::move(few);
  }
  return PieceExtents(std::span<const FileExtent>(*known->extents));
}

void CachedPieces::forget_pieces() {
  pieces_.clear();
  items_ = 0;
  of_rank_.reset();
  of_aggregator_.reset();
  ranks_ = {};
}

}  // namespace weir::plan

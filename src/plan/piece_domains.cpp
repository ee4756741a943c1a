#include "plan/piece_domains.hpp"

#include <algorithm>

#include "array/number_theory.hpp"

namespace weir::plan {
namespace {

bool is_contiguous(const PieceGrid& grid) { return grid.chunks().chunks() <= 1; }

}  // namespace

PieceDomains::PieceDomains(const PieceGrid& grid, const array::Region& asked_for,
                           std::int64_t aggregators)
    : grid_(grid), asked_for_(asked_for), aggregators_(aggregators) {
  if (asked_for.empty()) return;
  // The lower corner of a box has the least number in either order, the upper one the greatest.
  const array::Box hull = asked_for.bounding_box();
  array::Indices upper = hull.lower;
  for (int d = 0; d < upper.size(); ++d) upper[d] += hull.extent[d] - 1;
  first_ = grid.piece_at(hull.lower);
  last_ = grid.piece_at(upper) + 1;
  if (is_contiguous(grid)) {
    per_domain_ = array::divide_up(last_ - first_, aggregators);
    turns_ = per_domain_;
  } else {
    first_ = grid.chunk_of(first_);
    last_ = grid.chunk_of(last_ - 1) + 1;
    turns_ = (array::divide_up(last_ - first_, aggregators) + 1) * grid.pieces_per_chunk();
  }
}

std::int64_t PieceDomains::aggregator_of(std::int64_t piece) const {
  if (is_contiguous(grid_)) return (piece - first_) / per_domain_;
  return grid_.chunk_of(piece) % aggregators_;
}

std::int64_t PieceDomains::turn_of(std::int64_t piece) const {
  if (is_contiguous(grid_)) return (piece - first_) % per_domain_;
  return (grid_.chunk_of(piece) / aggregators_ - first_ / aggregators_) * grid_.pieces_per_chunk() +
         piece % grid_.pieces_per_chunk();
}

std::vector<std::int64_t> PieceDomains::pieces_of(std::int64_t aggregator) const {
  std::vector<std::int64_t> pieces;
  if (is_contiguous(grid_)) {
    const std::int64_t first = std::min(first_ + aggregator * per_domain_, last_);
    grid_.append_meeting_range(asked_for_, first, std::min(first + per_domain_, last_), pieces);
  } else {
    grid_.append_meeting_dealt(asked_for_, aggregators_, aggregator, pieces);
  }
  return pieces;
}

}  // namespace weir::plan

// Which aggregator moves which piece of an array on disk.
//
// The pieces of a contiguous array are dealt as one contiguous domain per aggregator; chunks are
// dealt in turn, chunk c to aggregator c mod k, so that sections spread over all of them. Along its
// domain every piece has a turn: 0, 1, 2, … in the order of the file. All of it is in closed form,
// so that a rank finds aggregator and turn of a piece without knowing of any other.
#pragma once

#include <cstdint>
#include <vector>

#include "array/region.hpp"
#include "plan/piece_grid.hpp"

namespace weir::plan {

class PieceDomains {
 public:
  // Shares out the pieces that may meet `asked_for` over `aggregators` (>= 1).
  PieceDomains(const PieceGrid& grid, const array::Region& asked_for, std::int64_t aggregators);

  [[nodiscard]] const PieceGrid& grid() const { return grid_; }
  [[nodiscard]] std::int64_t aggregator_of(std::int64_t piece) const;
  [[nodiscard]] std::int64_t turn_of(std::int64_t piece) const;
  // More than the greatest turn.
  [[nodiscard]] std::int64_t turns() const { return turns_; }
  // The pieces of an aggregator that meet `asked_for`, by turn.
  [[nodiscard]] std::vector<std::int64_t> pieces_of(std::int64_t aggregator) const;

 private:
  PieceGrid grid_;
  array::Region asked_for_;
  std::int64_t aggregators_;
  std::int64_t first_ = 0;       // the first piece, or chunk, that meets the region
  std::int64_t last_ = 0;        // the last one, plus 1
  std::int64_t per_domain_ = 1;  // pieces of a contiguous domain
  std::int64_t turns_ = 0;
};

}  // namespace weir::plan

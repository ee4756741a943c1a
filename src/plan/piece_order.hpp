// Iterates over pieces that are in a list, or that a generator (RankPieces, AggregatorPieces)
// finds.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plan/slab.hpp"

namespace weir::plan {

template <typename Generator>
class PieceOrder {
 public:
  using List = std::shared_ptr<const std::vector<PieceId>>;

  explicit PieceOrder(List known) : known_(std::move(known)) {}
  explicit PieceOrder(Generator pieces) : pieces_(std::move(pieces)) {}

  // Returns false if no piece is left.
  bool next(PieceId& id) {
    if (pieces_) return pieces_->next(id);
    if (next_ == known_->size()) return false;
    id = (*known_)[next_++];
    return true;
  }

 private:
  List known_;
  std::size_t next_ = 0;
  std::optional<Generator> pieces_;  // if there is no list
};

}  // namespace weir::plan

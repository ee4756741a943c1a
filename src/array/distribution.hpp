// How an array is held by ranks or on disk, regular or explicit. A rank's part is a number of
// regions, its pieces: one under a regular distribution, one per box under an explicit one.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "array/explicit_distribution.hpp"
#include "array/region.hpp"
#include "array/regular_distribution.hpp"

namespace weir::array {

class Distribution {
 public:
  // NOLINTBEGIN(google-explicit-constructor): either kind is a distribution
  Distribution(const RegularDistribution& regular) : kind_(regular) {}
  Distribution(ExplicitDistribution boxes) : kind_(std::move(boxes)) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] const Shape& shape() const {
    return std::visit([](const auto& kind) -> const Shape& { return kind.shape(); }, kind_);
  }
  [[nodiscard]] std::int64_t ranks() const {
    return std::visit([](const auto& kind) { return kind.ranks(); }, kind_);
  }
  [[nodiscard]] std::int64_t elements(std::int64_t rank) const {
    return std::visit([&](const auto& kind) { return kind.elements(rank); }, kind_);
  }
  // Null when explicit.
  [[nodiscard]] const RegularDistribution* regular() const {
    return std::get_if<RegularDistribution>(&kind_);
  }
  // Null when regular.
  [[nodiscard]] const ExplicitDistribution* explicit_boxes() const {
    return std::get_if<ExplicitDistribution>(&kind_);
  }

  // How many pieces `rank` holds, and the piece of a number below that.
  [[nodiscard]] std::int64_t pieces(std::int64_t rank) const;
  [[nodiscard]] Region piece(std::int64_t rank, std::int64_t number) const;

  // A piece, by its rank and its number there.
  struct Piece {
    std::int64_t rank = 0;
    std::int64_t number = 0;

    friend bool operator==(const Piece&, const Piece&) = default;
  };
  // The pieces with an element in `region`, by rank, then number. The work is in proportion to the
  // answer (to the boxes that meet the bounding box of `region`, where boxes are explicit).
  [[nodiscard]] std::vector<Piece> pieces_meeting(const Region& region) const;

  friend bool operator==(const Distribution&, const Distribution&) = default;

 private:
  std::variant<RegularDistribution, ExplicitDistribution> kind_;
};

}  // namespace weir::array

// The distribution of an array to ranks or on disk, regular or explicit. A rank's part consists of
// regions, called pieces: one in a regular distribution, one per box in an explicit distribution.
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
  // Returns null if the distribution is explicit.
  [[nodiscard]] const RegularDistribution* regular() const {
    return std::get_if<RegularDistribution>(&kind_);
  }
  // Returns null if the distribution is regular.
  [[nodiscard]] const ExplicitDistribution* explicit_boxes() const {
    return std::get_if<ExplicitDistribution>(&kind_);
  }

  // Return the number of pieces that `rank` holds, and one piece by its number.
  [[nodiscard]] std::int64_t pieces(std::int64_t rank) const;
  [[nodiscard]] Region piece(std::int64_t rank, std::int64_t number) const;

  // A piece, identified by its rank and its number on that rank.
  struct Piece {
    std::int64_t rank = 0;
    std::int64_t number = 0;

    friend bool operator==(const Piece&, const Piece&) = default;
  };
  // Returns the pieces with an element in `region`, ordered by rank, then number. The work is
  // proportional to the result, or, in an explicit distribution, to the number of boxes that meet
  // the bounding box of `region`.
  [[nodiscard]] std::vector<Piece> pieces_meeting(const Region& region) const;

  friend bool operator==(const Distribution&, const Distribution&) = default;

 private:
  std::variant<RegularDistribution, ExplicitDistribution> kind_;
};

}  // namespace weir::array

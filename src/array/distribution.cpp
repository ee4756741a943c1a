#include "array/distribution.hpp"

namespace weir::array {

std::int64_t Distribution::pieces(std::int64_t rank) const {
  const ExplicitDistribution* const held = explicit_boxes();
  if (held != nullptr) return held->first_box(rank + 1) - held->first_box(rank);
  return 1;
}

Region Distribution::piece(std::int64_t rank, std::int64_t number) const {
  const ExplicitDistribution* const held = explicit_boxes();
  if (held != nullptr) return held->piece(held->first_box(rank) + number);
  return regular()->part(rank);
}

std::vector<Distribution::Piece> Distribution::pieces_meeting(const Region& region) const {
  std::vector<Piece> found;
  if (region.empty()) return found;
  if (const ExplicitDistribution* const held = explicit_boxes()) {
    for (const std::int64_t number : held->boxes_meeting(region.bounding_box())) {
      if (region.clipped(held->boxes()[number]).empty()) continue;
      if (held->boxes().is_strided() && !meet(region, held->piece(number))) continue;
      const std::int64_t rank = held->rank_of_box(number);
      found.push_back({rank, number - held->first_box(rank)});
    }
    return found;
  }
  RanksMeeting ranks(*regular(), region);
  for (RanksMeeting::Share share; ranks.next(share);) found.push_back({share.rank, 0});
  return found;
}

}  // namespace weir::array

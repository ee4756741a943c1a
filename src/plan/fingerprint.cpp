#include "plan/fingerprint.hpp"

namespace weir::plan {

void Fingerprint::add(const array::Distribution& distribution) {
  add(distribution.shape().extents());
  if (const array::RegularDistribution* const regular = distribution.regular()) {
    add(regular->grid().extents);
    add(static_cast<std::int64_t>(regular->grid().order));
    for (int d = 0; d < distribution.shape().dimensions(); ++d) add(regular->along(d).block());
    return;
  }
  const array::ExplicitDistribution& held = *distribution.explicit_boxes();
  for (std::int64_t rank = 0; rank < held.ranks(); ++rank) add(held.first_box(rank));
  for (const std::int64_t number : held.boxes().numbers()) add(number);
}

}  // namespace weir::plan

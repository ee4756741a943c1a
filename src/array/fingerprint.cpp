#include "array/fingerprint.hpp"

#include "array/distribution.hpp"

namespace weir::array {

void Fingerprint::add(const Distribution& distribution) {
  add(distribution.shape().extents());
  if (const RegularDistribution* const regular = distribution.regular()) {
    add(regular->grid().extents);
    add(static_cast<std::int64_t>(regular->grid().order));
    for (int d = 0; d < distribution.shape().dimensions(); ++d) add(regular->along(d).block());
    return;
  }
  add(static_cast<std::int64_t>(distribution.explicit_boxes()->boxes().digest()));
}

}  // namespace weir::array

#include "aggregation/known_regions.hpp"

#include <algorithm>
#include <utility>

namespace weir::aggregation {

std::shared_ptr<const KnownRegions::Known> KnownRegions::find(const array::Shape& shape,
                                                              const array::Section& own) const {
  const auto found = std::find_if(known_.rbegin(), known_.rend(), [&](const auto& one) {
    return one->shape == shape && one->own == own;
  });
  return found == known_.rend() ? nullptr : *found;
}

std::optional<plan::SharedDistribution> KnownRegions::add(const array::Shape& shape,
                                                          const array::Section& own,
                                                          const plan::SharedDistribution& all) {
  known_.push_back(std::make_shared<const Known>(Known{++added_, shape, own, all}));
  if (known_.size() <= most_sets) return std::nullopt;
  auto oldest = known_.front()->all;
  known_.pop_front();
  return oldest;
}

}  // namespace weir::aggregation

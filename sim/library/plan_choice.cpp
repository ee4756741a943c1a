// This file takes the place of src/aggregation/plan_choice.cpp: ranks that ask the same choose
// once.
#include "aggregation/plan_choice.hpp"

#include "library/simulated_rank.hpp"

namespace weir::aggregation {

Result<plan::Choice> choose_plan(const plan::Request& request, const topology::Topology& topology,
                                 const topology::FileTargets& targets,
                                 const plan::PlatformRates& rates,
                                 const plan::Overrides& overrides) {
  return sim::this_rank().system->choices.choose(request, topology, targets, rates, overrides);
}

}  // namespace weir::aggregation

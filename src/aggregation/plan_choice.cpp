#include "aggregation/plan_choice.hpp"

namespace weir::aggregation {

// Each rank chooses by itself, which is cheaper than a message.
Result<plan::Choice> choose_plan(const plan::Request& request, const topology::Topology& topology,
                                 const topology::FileTargets& targets,
                                 const plan::PlatformRates& rates,
                                 const plan::Overrides& overrides) {
  return plan::choose(request, topology, targets, rates, overrides);
}

}  // namespace weir::aggregation

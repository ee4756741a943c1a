// The choice of how to carry out a request. A simulation of the library, in which all ranks are in
// one process, has another one in place of this.
#pragma once

#include "plan/choice.hpp"

namespace weir::aggregation {

// Has the arguments and the result of plan::choose().
[[nodiscard]] Result<plan::Choice> choose_plan(const plan::Request& request,
                                               const topology::Topology& topology,
                                               const topology::FileTargets& targets,
                                               const plan::PlatformRates& rates,
                                               const plan::Overrides& overrides);

}  // namespace weir::aggregation

// The choices of plans that simulated ranks have made. Ranks that ask the same choose the same, so
// that the first of them chooses for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "common/status.hpp"
#include "plan/choice.hpp"
#include "plan/platform_rates.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace weir::sim {

class KnownChoices {
 public:
  // Has the arguments and the result of plan::choose().
  [[nodiscard]] Result<plan::Choice> choose(const plan::Request& request,
                                            const topology::Topology& topology,
                                            const topology::FileTargets& targets,
                                            const plan::PlatformRates& rates,
                                            const plan::Overrides& overrides);

  // Returns how often plan::choose() was asked.
  [[nodiscard]] std::int64_t made() const { return made_; }

 private:
  struct Known {
    plan::Request request;
    topology::Topology topology;
    topology::FileTargets targets;
    plan::PlatformRates rates;
    plan::Overrides overrides;
    Result<plan::Choice> choice;
  };

  std::deque<Known> known_;  // the latest first
  std::int64_t made_ = 0;
};

}  // namespace weir::sim

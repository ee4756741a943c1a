#include "known_choices.hpp"

#include <algorithm>

namespace weir::sim {
namespace {

// Ranks are at most some requests apart.
constexpr std::size_t most_known = 64;

}  // namespace

Result<plan::Choice> KnownChoices::choose(const plan::Request& request,
                                          const topology::Topology& topology,
                                          const topology::FileTargets& targets,
                                          const plan::PlatformRates& rates,
                                          const plan::Overrides& overrides) {
  const auto same = std::ranges::find_if(known_, [&](const Known& one) {
    return one.overrides == overrides && one.targets == targets && one.rates == rates &&
           one.request == request && one.topology == topology;
  });
  if (same != known_.end()) return same->choice;
  ++made_;
  known_.push_front({request, topology, targets, rates, overrides,
                     plan::choose(request, topology, targets, rates, overrides)});
  if (known_.size() > most_known) known_.pop_back();
  return known_.front().choice;
}

}  // namespace weir::sim

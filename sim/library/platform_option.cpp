// In place of src/capi/platform_option.cpp: sessions have the rates of the simulated machine, and
// no description of another one is read.
#include "capi/platform_option.hpp"

#include "library/simulated_rank.hpp"

namespace weir::capi {

Outcome read_platform(Ranks& /*ranks*/, const char* /*path*/, plan::PlatformDescription& platform) {
  platform.rates = sim::this_rank().system->rates;
  return {};
}

}  // namespace weir::capi

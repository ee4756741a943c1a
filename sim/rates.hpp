// The rates by which the library chooses a way, of the machine that is simulated.
#pragma once

#include <cstdint>

#include "description.hpp"
#include "plan/platform_rates.hpp"

namespace weir::sim {

// Returns the rates of a description's parts for a request of so many bytes. What is not simulated
// has no price either: caches, locks, and what agreeing on a piece takes.
[[nodiscard]] plan::PlatformRates rates_of(const Description& asked, std::int64_t bytes);

}  // namespace weir::sim

// Runs the library itself on simulated ranks: its session, its votes, its messages, and collective
// writes or reads whose operations take the time of the described machine.
#pragma once

#include "common/status.hpp"
#include "description.hpp"
#include "execution.hpp"
#include "planned.hpp"

namespace weir::sim {

// The plan of what the library is asked. Fails if the description asks for what the library does
// not do by itself.
[[nodiscard]] Result<Planned> plan_for_library(const Description& asked);

// May be called once in a process, since SimGrid has one engine.
[[nodiscard]] Result<Outcome> run_library(const Description& asked, const Planned& planned);

}  // namespace weir::sim

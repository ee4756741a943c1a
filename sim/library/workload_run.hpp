// Runs a workload of weir-bench itself on simulated ranks: from its command line to its results.
#pragma once

#include "common/status.hpp"
#include "description.hpp"
#include "execution.hpp"
#include "planned.hpp"

namespace weir::sim {

// The description's array is what the workload `array` writes or reads in each step. For `sink` it
// has a row of bytes for each rank, which is its message; `steps` messages are sent. May be called
// once in a process, since SimGrid has one engine.
[[nodiscard]] Result<Outcome> run_workload(const Description& asked, const Planned& planned);

}  // namespace weir::sim

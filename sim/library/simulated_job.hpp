// A job of simulated ranks, each of which runs a program on the nodes of a simulated machine.
#pragma once

#include <cstdint>
#include <functional>

#include "common/status.hpp"
#include "description.hpp"
#include "execution.hpp"
#include "planned.hpp"

namespace weir::sim {

enum class Storage {
  drops_bytes,  // and reads leave the memory as it is
  keeps_bytes,  // in files of the paths that the ranks give, which take no simulated time
};

// What one rank does, from before MPI_Init until after MPI_Finalize.
using RankProgram = std::function<Status(std::int64_t rank)>;

// Runs the program on all ranks, and returns what they moved, without `seconds`. May be called once
// in a process, since SimGrid has one engine.
[[nodiscard]] Result<Outcome> run_job(const Description& asked, const Planned& planned,
                                      const RankProgram& program, Storage storage);

// Completes an outcome of run_job() that took so many seconds.
void put_seconds(Outcome& outcome, double seconds);

}  // namespace weir::sim

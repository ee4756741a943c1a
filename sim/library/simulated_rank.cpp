#include "library/simulated_rank.hpp"

#include <mpi.h>

#include <utility>

#include "library/messages.hpp"

namespace weir::sim {

SimulatedRank& this_rank() { return *static_cast<SimulatedRank*>(smpi_process_get_user_data()); }

void set_this_rank(SimulatedRank& rank) { smpi_process_set_user_data(&rank); }

void wake_looking(SimulatedNode& node) {
  ++node.changes;
  for (SimulatedRank* const one : std::exchange(node.looking, {})) one->woken->release();
}

void tell_of_message(SimulatedRank& rank) {
  ++rank.news;
  rank.looks_since = simgrid::s4u::Engine::get_clock();
  if (std::erase(rank.node->looking, &rank) > 0) rank.woken->release();
  if (std::exchange(rank.waits_for_message, false)) rank.told->release();
}

void wait_for_message() {
  SimulatedRank& own = this_rank();
  wake_looking(*own.node);
  own.waits_for_message = true;
  own.told->acquire();
}

}  // namespace weir::sim

namespace weir::ranks {

// In place of src/ranks/thread_sessions.cpp.
Sessions& sessions_of_this_thread() { return sim::this_rank().sessions; }

}  // namespace weir::ranks

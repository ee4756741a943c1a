// While a session begins, ranks make collective operations together, one after the other, and
// communicators of some of a communicator's ranks. MPI makes these in calls that block, so all
// ranks meet first (messages.hpp). A failure revokes.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/status.hpp"
#include "ranks/messages.hpp"
#include "ranks/revocation.hpp"

namespace weir::ranks {

// Collective. Does what MPI_Comm_split does.
[[nodiscard]] Status split(MPI_Comm communicator, int color, int key, const Meeting& meeting,
                           MPI_Comm& part);
// Collective. Makes a communicator of the ranks that share memory with this one, in their order, or
// of each `ranks_per_node` consecutive ones of these if that is not 0.
[[nodiscard]] Status split_nodes(MPI_Comm communicator, std::int64_t ranks_per_node,
                                 const Meeting& meeting, MPI_Comm& node);

// Ends on all ranks what they do together if a call of MPI on this rank has failed.
[[nodiscard]] Status unless_failed(Status called, Revocation& revocation);
[[nodiscard]] Result<Place> place_in(MPI_Comm communicator, Revocation& revocation);

}  // namespace weir::ranks

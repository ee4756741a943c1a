// Which simulated ranks a communicator of MPI has.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "library/group.hpp"

namespace weir::sim {

[[nodiscard]] int rank_in(MPI_Comm communicator);
// Returns null if the communicator was made by a call that is not simulated here.
[[nodiscard]] std::shared_ptr<Group> group_of(MPI_Comm communicator);
// Returns how much memory the elements have, with gaps such as that of MPI_DOUBLE_INT.
[[nodiscard]] std::size_t bytes_of(std::int64_t count, MPI_Datatype type);

}  // namespace weir::sim

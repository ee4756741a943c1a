// The library that takes calls over (take_over.hpp). The environment variable WEIR_MPIIO_TAKE_OVER
// has the paths of one or more, built with different MPIs, with colons between them. When the
// program opens its first file, the one that is linked with the program's MPI is loaded.
#pragma once

#include "adapters/mpiio/reason.hpp"
#include "adapters/mpiio/take_over.hpp"

namespace weir::mpiio {

// Returns the functions of the library; null if it is not loaded.
[[nodiscard]] const TakeOver* take_over();

// Loads the library if that was not tried before. Returns null, with the reason, if there is none;
// without a reason if none was asked for.
[[nodiscard]] const TakeOver* loaded_if_asked(Reason& reason);

// Returns the file as calls on it are taken over. Null, with the reason, if they are not; without a
// reason if that was not asked for.
[[nodiscard]] TakenFile* taken_if_asked(const Opening& opening, Reason& reason);

// Called after MPI_Init. Where WEIR_MPIIO_NODES is `all`, the user has said that the launcher gives
// all ranks the libraries, on all nodes.
void begin_taking();

// Called before MPI_Finalize.
void end_taking();

}  // namespace weir::mpiio

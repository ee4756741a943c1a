#pragma once

#include <optional>
#include <string>

namespace weir::bench {

// Returns the text of a variable of MPI's tool interface (MPI 4.0, section 15.3), which may be a
// number, or nothing if there is none. Variables of a component exist once MPI has opened it. The
// interface is opened and closed here, between MPI_Init and MPI_Finalize: Open MPI 4.1 crashes if
// it is closed after MPI_Finalize.
[[nodiscard]] std::optional<std::string> mpi_control_variable(const char* name);

}  // namespace weir::bench

#pragma once

#include <optional>
#include <string>

namespace weir::bench {

// Returns a text variable of MPI's tool interface (MPI 4.0, section 15.3), or nothing if there is
// none. The interface is opened and closed here, between MPI_Init and MPI_Finalize: Open MPI 4.1
// crashes if it is closed after MPI_Finalize.
[[nodiscard]] std::optional<std::string> mpi_control_variable(const char* name);

}  // namespace weir::bench

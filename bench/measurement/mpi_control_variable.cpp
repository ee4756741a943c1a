// MPI's tool interface. Simulated ranks have sim/library/mpi_control_variable.cpp instead.
#include "measurement/mpi_control_variable.hpp"

#include <mpi.h>

namespace weir::bench {

std::optional<std::string> mpi_control_variable(const char* name) {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return std::nullopt;
  std::optional<std::string> found;
  int index = 0;
  MPI_T_cvar_handle handle{};
  int count = 0;
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    std::string value(static_cast<std::size_t>(count) + 1, '\0');
    if (count > 1 && MPI_T_cvar_read(handle, value.data()) == MPI_SUCCESS)
      found = value.substr(0, value.find('\0'));
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return found;
}

}  // namespace weir::bench

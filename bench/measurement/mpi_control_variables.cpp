// Simulated ranks have sim/library/mpi_control_variables.cpp instead.
#include "measurement/mpi_control_variables.hpp"

#include <mpi.h>

#include <cstddef>

namespace weir::bench {

namespace {

// Reads a number; nothing if the variable has several, or another type.
template <typename Number>
std::optional<std::string> variable_number(MPI_T_cvar_handle handle) {
  Number value{};
  if (MPI_T_cvar_read(handle, &value) != MPI_SUCCESS) return std::nullopt;
  return std::to_string(value);
}

std::optional<std::string> variable_text(MPI_T_cvar_handle handle, MPI_Datatype type, int count) {
  if (type == MPI_CHAR) {
    std::string value(static_cast<std::size_t>(count) + 1, '\0');
    if (count < 2 || MPI_T_cvar_read(handle, value.data()) != MPI_SUCCESS) return std::nullopt;
    return value.substr(0, value.find('\0'));
  }
  if (count != 1) return std::nullopt;
  if (type == MPI_INT) return variable_number<int>(handle);
  if (type == MPI_UNSIGNED) return variable_number<unsigned>(handle);
  if (type == MPI_UNSIGNED_LONG) return variable_number<unsigned long>(handle);
  if (type == MPI_UNSIGNED_LONG_LONG) return variable_number<unsigned long long>(handle);
  return std::nullopt;
}

MPI_Datatype variable_type(int variable) {
  int verbosity = 0;
  int binding = 0;
  int scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum values = MPI_T_ENUM_NULL;
  MPI_T_cvar_get_info(variable, nullptr, nullptr, &verbosity, &type, &values, nullptr, nullptr,
                      &binding, &scope);
  return type;
}

}  // namespace

MpiControlVariables::MpiControlVariables() {
  int provided = 0;
  is_open_ = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
}

MpiControlVariables::~MpiControlVariables() {
  if (is_open_) MPI_T_finalize();
}

std::optional<std::string> MpiControlVariables::value(const char* name) const {
  std::optional<std::string> found;
  int index = 0;
  MPI_T_cvar_handle handle{};
  int count = 0;
  if (is_open_ && MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    found = variable_text(handle, variable_type(index), count);
    MPI_T_cvar_handle_free(&handle);
  }
  return found;
}

}  // namespace weir::bench

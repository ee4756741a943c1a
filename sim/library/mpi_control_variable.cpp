// In place of bench/measurement/mpi_control_variable.cpp: SMPI has no tool interface.
#include "measurement/mpi_control_variable.hpp"

namespace weir::bench {

std::optional<std::string> mpi_control_variable(const char* /*name*/) { return std::nullopt; }

}  // namespace weir::bench

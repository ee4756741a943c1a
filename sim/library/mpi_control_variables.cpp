// In place of bench/measurement/mpi_control_variables.cpp: SMPI has no tool interface.
#include "measurement/mpi_control_variables.hpp"

namespace weir::bench {

MpiControlVariables::MpiControlVariables() = default;
MpiControlVariables::~MpiControlVariables() = default;

std::optional<std::string> MpiControlVariables::value(const char* /*name*/) const {
  return std::nullopt;
}

}  // namespace weir::bench

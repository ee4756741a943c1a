// The engine that calls MPI, in the suites that all engines are in.
#include "aggregation/engines/mpiio_engine.hpp"

#include "engines/test_engines.hpp"

namespace weir::storage {

std::vector<TestedEngine> tested_engines() {
  return {{"mpi_io", [] { return aggregation::make_mpiio_engine(); }}};
}

}  // namespace weir::storage

// The engine that calls MPI, in the suites that all engines are in.
#include "aggregation/engines/mpiio_engine.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "engines/test_engines.hpp"

namespace weir::storage {

std::vector<TestedEngine> tested_engines() { return {{"mpi_io", aggregation::make_mpiio_engine}}; }

}  // namespace weir::storage

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}

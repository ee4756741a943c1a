// The main function of each program of tests that has none of its own.
#include <mpi.h>

#include "harness/on_ranks.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return weir::test::run_tests(argc, argv);
}

// The main function of the tests of workloads, which start MPI as weir-bench does.
#include <mpi.h>

#include "harness/on_ranks.hpp"
#include "measurement/failure.hpp"

int main(int argc, char** argv) {
  weir::bench::prepare_signals();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  return weir::test::run_tests(argc, argv);
}

#include <mpi.h>
#include <stdio.h>
#include <weir/weir.h>

int main(int argc, char** argv) {
  static double mine[8][300], first[1][300];
  int rank = 0, size = 1;
  weir_session* session = NULL;
  weir_array* array = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 8 * 300; ++i) mine[i / 300][i % 300] = rank;
  const int64_t shape[] = {8 * size, 300}, lower[] = {8 * rank, 0}, extent[] = {8, 300};
  const int64_t corner[] = {0, 0}, row[] = {1, 300};
  const weir_region own = {.lower = lower, .extent = extent, .data = mine};
  const weir_region top = {.lower = corner, .extent = row, .data = first};
  int failed = weir_session_open(MPI_COMM_WORLD, NULL, &session) ||
               weir_array_create(session, "temperature", 2, shape, "float64", NULL, &array) ||
               weir_write_region(array, &own) || /* like ncmpi_put_vara_double_all */
               (rank == 0 && weir_write_region_independent(array, &top)) ||
               weir_session_close(&session);
  if (failed) puts(weir_last_error());
  return MPI_Finalize() || failed;
}

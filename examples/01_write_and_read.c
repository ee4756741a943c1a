#include <mpi.h>
#include <stdio.h>
#include <weir/weir.h>

int main(int argc, char** argv) {
  static double mine[400 * 300], theirs[400 * 300]; /* room for any rank's part */
  const int64_t shape[] = {400, 300};
  weir_session* session = NULL;
  weir_distribution *rows = NULL, *columns = NULL;
  weir_array* array = NULL;
  for (int i = 0; i < 400 * 300; ++i) mine[i] = i;
  int failed = MPI_Init(&argc, &argv) || weir_session_open(MPI_COMM_WORLD, NULL, &session) ||
               weir_distribution_create(session, 2, shape, "BLOCK, *", NULL, &rows) ||
               weir_distribution_create(session, 2, shape, "*, CYCLIC(10)", NULL, &columns) ||
               weir_array_create(session, "temperature", 2, shape, "float64", NULL, &array) ||
               weir_write(array, rows, mine) || weir_read(array, columns, theirs) ||
               weir_session_close(&session);
  puts(failed ? weir_last_error() : "written by rows, read by columns");
  return MPI_Finalize() || failed;
}

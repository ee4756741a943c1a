/* Writes and reads variables of PnetCDF by collective and by independent calls, blocking and not,
 * for test_take_over.py.
 *
 *   pnetcdf_slabs FILE */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

enum { rows = 6, width = 5, depth = 7, elements = rows * width * depth, records = 3 };
static int failed;

static void check(int result) {
  if (result == NC_NOERR) return;
  fprintf(stderr, "%s\n", ncmpi_strerror(result));
  ++failed;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const path = argc > 1 ? argv[1] : "slabs.nc";
  int file = 0;
  int dimensions[4];
  int fixed = 0;
  int growing = 0;
  int beside = 0; /* has records between those of `growing` */
  int own = 0;
  check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  check(ncmpi_def_dim(file, "step", NC_UNLIMITED, &dimensions[0]));
  check(ncmpi_def_dim(file, "row", 2 * rows, &dimensions[1]));
  check(ncmpi_def_dim(file, "column", (MPI_Offset)width * ranks, &dimensions[2]));
  check(ncmpi_def_dim(file, "depth", depth, &dimensions[3]));
  check(ncmpi_def_var(file, "fixed", NC_INT, 3, dimensions + 1, &fixed));
  check(ncmpi_def_var(file, "growing", NC_DOUBLE, 4, dimensions, &growing));
  check(ncmpi_def_var(file, "beside", NC_DOUBLE, 4, dimensions, &beside));
  check(ncmpi_def_var(file, "own", NC_INT, 3, dimensions + 1, &own));
  check(ncmpi_enddef(file));
  const MPI_Offset start[] = {1, (MPI_Offset)width * rank, 0};
  const MPI_Offset count[] = {rows, width, depth};
  const MPI_Offset stride[] = {2, 1, 1};
  int values[elements];
  for (int i = 0; i < elements; ++i) values[i] = rank * 1000 + i;
  check(ncmpi_put_vars_int_all(file, fixed, start, count, stride, values));
  double doubles[records][elements];
  int requests[2 * records];
  for (int step = 0; step < records; ++step) {
    for (int i = 0; i < elements; ++i) doubles[step][i] = step * 1e6 + rank * 1000 + i;
    const MPI_Offset from[] = {step, rows, (MPI_Offset)width * rank, 0};
    const MPI_Offset part[] = {1, rows, width, depth};
    check(ncmpi_iput_vara_double(file, growing, from, part, doubles[step], &requests[2 * step]));
    check(ncmpi_iput_vara_double(file, beside, from, part, doubles[step], &requests[2 * step + 1]));
  }
  int statuses[2 * records];
  check(ncmpi_wait_all(file, 2 * records, requests, statuses));
  const MPI_Offset first[] = {0, (MPI_Offset)width * rank, 0};
  const MPI_Offset second[] = {rows, (MPI_Offset)width * rank, 0};
  check(ncmpi_begin_indep_data(file));
  check(ncmpi_put_vara_int(file, own, first, count, values));
  check(ncmpi_iput_vara_int(file, own, second, count, values, requests));
  check(ncmpi_wait(file, 1, requests, statuses));
  check(ncmpi_end_indep_data(file));
  check(ncmpi_close(file));
  check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file));
  for (int i = 0; i < elements; ++i) values[i] = -1;
  check(ncmpi_get_vars_int_all(file, fixed, start, count, stride, values));
  for (int i = 0; i < elements; ++i) failed += values[i] != rank * 1000 + i;
  for (int step = 0; step < records; ++step) {
    const MPI_Offset from[] = {step, rows, (MPI_Offset)width * rank, 0};
    const MPI_Offset part[] = {1, rows, width, depth};
    check(ncmpi_iget_vara_double(file, growing, from, part, doubles[0], &requests[0]));
    check(ncmpi_iget_vara_double(file, beside, from, part, doubles[1], &requests[1]));
    check(ncmpi_wait_all(file, 2, requests, statuses));
    for (int i = 0; i < 2 * elements; ++i)
      failed += doubles[i / elements][i % elements] != step * 1e6 + rank * 1000 + i % elements;
  }
  check(ncmpi_begin_indep_data(file));
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < elements; ++i) values[i] = -1;
    check(ncmpi_get_vara_int(file, own, half == 0 ? first : second, count, values));
    for (int i = 0; i < elements; ++i) failed += values[i] != rank * 1000 + i;
  }
  check(ncmpi_end_indep_data(file));
  check(ncmpi_close(file));
  if (failed > 0) printf("rank %d: %d failed\n", rank, failed);
  MPI_Finalize();
  return failed > 0;
}

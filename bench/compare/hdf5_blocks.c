// Writes and reads a dataset of HDF5 by collective calls, and prints MiB/s of each direction.
//
//   hdf5_blocks FILE ROW_BYTES MEBIBYTES TIMES
//
// The dataset is a 3-D array of doubles over a grid of ranks (8: 2 x 2 x 2), contiguous in the
// file, so that each rank's rows have ROW_BYTES. It is written and read TIMES times, and the rate
// is that of the median, so that with 3 times or more the first one does not count. What was read
// is verified outside the times. Nothing is made durable.
#include <hdf5.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "blocks_of_ranks.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct Place place = own_place();
  must(argc == 5, "usage: hdf5_blocks FILE ROW_BYTES MEBIBYTES TIMES");
  const struct Part part = own_part(place, strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
  const int times = (int)strtol(argv[4], NULL, 10);
  must(times > 0 && times <= most_times, "TIMES is 1 to 100");
  double* const memory = malloc(sizeof(double) * (size_t)part.elements);
  must(memory != NULL, "no memory");
  hsize_t size[3], start[3], count[3];
  for (int d = 0; d < 3; ++d) {
    size[d] = (hsize_t)part.sizes[d];
    start[d] = (hsize_t)part.starts[d];
    count[d] = (hsize_t)part.parts[d];
  }
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t space = H5Screate_simple(3, size, NULL);
  const hid_t dataset =
      H5Dcreate2(file, "blocks", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  must(dataset >= 0, "the dataset cannot be created");
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  const hid_t block = H5Screate_simple(3, count, NULL);
  const hid_t collective = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
  double writing[most_times];
  double reading[most_times];
  for (int time = 0; time < times; ++time) {
    for (int64_t i = 0; i < part.elements; ++i) memory[i] = value(place, i, time);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now();
    herr_t done = H5Dwrite(dataset, H5T_NATIVE_DOUBLE, block, space, collective, memory);
    writing[time] = span_of(begin, now());
    must(done >= 0, "a write failed");
    memset(memory, 0, sizeof(double) * (size_t)part.elements);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = now();
    done = H5Dread(dataset, H5T_NATIVE_DOUBLE, block, space, collective, memory);
    reading[time] = span_of(begin, now());
    must(done >= 0, "a read failed");
    for (int64_t i = 0; i < part.elements; ++i)
      must(memory[i] == value(place, i, time), "what was read is wrong");
  }
  const double mebibytes = (double)(place.ranks * part.elements) * sizeof(double) / (1 << 20);
  print_rate("blocks", "write", writing, times, mebibytes);
  print_rate("blocks", "read", reading, times, mebibytes);
  H5Pclose(collective);
  H5Sclose(block);
  H5Sclose(space);
  H5Dclose(dataset);
  must(H5Fclose(file) >= 0, "the file cannot be closed");
  H5Pclose(access);
  free(memory);
  MPI_Finalize();
  return 0;
}

/* Writes and reads datasets of parallel HDF5, the last one by independent transfers and the others
 * by collective ones, for test_take_over.py.
 *
 *   hdf5_slabs FILE */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 6, width = 5, depth = 7, elements = rows * width * depth, datasets = 4 };

static int value(int rank, int dataset, int number) {
  return dataset * 100000 + rank * 1000 + number;
}

/* Each rank has some columns of a dataset of `rows` planes; of a strided one, every other. */
static hid_t slab(int rank, int ranks, int strided) {
  const hsize_t factor = strided ? 2 : 1;
  const hsize_t all[] = {rows * factor, (hsize_t)(width * ranks), depth};
  const hsize_t start[] = {strided ? 1 : 0, (hsize_t)(width * rank), 0};
  const hsize_t stride[] = {factor, 1, 1};
  const hsize_t count[] = {rows, width, depth};
  const hid_t space = H5Screate_simple(3, all, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL);
  return space;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_coll_metadata_write(access, 1);
  H5Pset_all_coll_metadata_ops(access, 1);
  const hid_t collective = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
  const hid_t independent = H5Pcreate(H5P_DATASET_XFER);
  const hsize_t here[] = {elements};
  const hid_t memory = H5Screate_simple(1, here, NULL);
  const hsize_t chunk[] = {2, width, depth};
  int values[elements];
  int failed = 0;
  hid_t file = H5Fcreate(argc > 1 ? argv[1] : "slabs.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int dataset = 0; dataset < datasets; ++dataset) {
    const hid_t transfer = dataset == datasets - 1 ? independent : collective;
    char name[] = "values0";
    name[6] = (char)('0' + dataset);
    const hid_t space = slab(rank, ranks, dataset == 1);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(creation, 0); /* files of two runs are equal */
    if (dataset == 2) H5Pset_chunk(creation, 3, chunk);
    const hid_t set =
        H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    for (int i = 0; i < elements; ++i) values[i] = value(rank, dataset, i);
    failed += H5Dwrite(set, H5T_NATIVE_INT, memory, space, transfer, values) < 0;
    H5Dclose(set);
    H5Pclose(creation);
    H5Sclose(space);
  }
  H5Fclose(file);
  file = H5Fopen(argc > 1 ? argv[1] : "slabs.h5", H5F_ACC_RDONLY, access);
  for (int dataset = 0; dataset < datasets; ++dataset) {
    const hid_t transfer = dataset == datasets - 1 ? independent : collective;
    char name[] = "values0";
    name[6] = (char)('0' + dataset);
    const hid_t space = slab(rank, ranks, dataset == 1);
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    for (int i = 0; i < elements; ++i) values[i] = -1;
    failed += H5Dread(set, H5T_NATIVE_INT, memory, space, transfer, values) < 0;
    for (int i = 0; i < elements; ++i) failed += values[i] != value(rank, dataset, i);
    H5Dclose(set);
    H5Sclose(space);
  }
  H5Fclose(file);
  H5Sclose(memory);
  H5Pclose(independent);
  H5Pclose(collective);
  H5Pclose(access);
  if (failed > 0) printf("rank %d: %d failed\n", rank, failed);
  MPI_Finalize();
  return failed > 0;
}

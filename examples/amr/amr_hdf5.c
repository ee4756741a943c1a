/* A small AMR program that writes checkpoints by HDF5, and waits for each of them:
 *
 *     mpirun -n 4 amr_hdf5 FOLDER CHECKPOINTS SECONDS_OF_COMPUTING
 */
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <unistd.h>

#include "mesh.h"

/* Writes this rank's blocks of one dataset. */
static int write_dataset(hid_t file, const char* name, int dimensions, const mesh* mesh,
                         const hsize_t* extents, hid_t type, const void* mine) {
  hsize_t shape[4], first[4] = {(hsize_t)mesh->first}, count[4];
  for (int d = 0; d < dimensions; ++d) shape[d] = count[d] = extents[d];
  shape[0] = (hsize_t)mesh->blocks;
  count[0] = (hsize_t)mesh->count;
  const hid_t in_file = H5Screate_simple(dimensions, shape, NULL);
  const hid_t in_memory = H5Screate_simple(dimensions, count, NULL);
  H5Sselect_hyperslab(in_file, H5S_SELECT_SET, first, NULL, count, NULL);
  const hid_t dataset =
      H5Dcreate2(file, name, type, in_file, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t collective = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
  const int failed = H5Dwrite(dataset, type, in_memory, in_file, collective, mine) < 0;
  H5Pclose(collective);
  H5Sclose(in_memory);
  H5Sclose(in_file);
  return H5Dclose(dataset) < 0 || failed;
}

/* Returns when the checkpoint is on the disk, so that it survives a crash of the system. */
static int write_checkpoint(const mesh* mesh, const char* path, MPI_Comm ranks) {
  const hsize_t extents[] = {0, 3}, cells[] = {0, CELLS, CELLS, CELLS};
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, ranks, MPI_INFO_NULL);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  int failed = write_dataset(file, "level", 1, mesh, extents, H5T_NATIVE_INT32, mesh->levels);
  failed |= write_dataset(file, "place", 2, mesh, extents, H5T_NATIVE_INT32, mesh->places);
  for (int v = 0; v < VARIABLES; ++v) {
    failed |=
        write_dataset(file, variable_names[v], 4, mesh, cells, H5T_NATIVE_DOUBLE, mesh->cells[v]);
  }
  failed |= H5Fclose(file) < 0;
  const int descriptor = open(path, O_WRONLY);
  failed |= fsync(descriptor) != 0;
  return close(descriptor) != 0 || failed;
}

int main(int argc, char** argv) {
  mesh mesh = {0};
  double blocked = 0, bytes = 0;
  int rank = 0, failed = 0;
  MPI_Init(&argc, &argv);
  const run_settings settings = read_settings(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double began = MPI_Wtime();
  for (int number = 0; number < settings.checkpoints && !failed; ++number) {
    const double time = (number + 1.0) / settings.checkpoints;
    if (!mesh_refine(&mesh, time, MPI_COMM_WORLD)) MPI_Abort(MPI_COMM_WORLD, 1);
    mesh_compute(&mesh, time, settings.seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    const double computed = MPI_Wtime();
    char path[4096];
    snprintf(path, sizeof path, "%s/checkpoint_%04d.h5", settings.folder, number);
    failed = write_checkpoint(&mesh, path, MPI_COMM_WORLD);
    blocked += MPI_Wtime() - computed;
    bytes += (double)mesh.blocks * CELLS * CELLS * CELLS * VARIABLES * sizeof(double);
  }
  if (rank == 0) {
    printf("%d checkpoints of %.0f MB together: blocked for %.2f s of %.2f s\n",
           settings.checkpoints, bytes / 1e6, blocked, MPI_Wtime() - began);
  }
  mesh_free(&mesh);
  return MPI_Finalize() || failed;
}

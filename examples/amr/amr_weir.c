/* The AMR program of amr_hdf5.c, which writes the same checkpoints by Weir. Settings decide who
 * stores them, and when the program goes on:
 *
 *     mpirun -n 4 amr_weir FOLDER CHECKPOINTS SECONDS_OF_COMPUTING
 */
#include <math.h>
#include <stdio.h>
#include <weir/weir.h>

#include "mesh.h"

/* Writes this rank's blocks of one array. */
static int write_blocks(weir_array* array, const mesh* mesh, const int64_t* extents,
                        const void* mine) {
  const int64_t lower[4] = {mesh->first};
  const int64_t extent[4] = {mesh->count, extents[1], extents[2], extents[3]};
  const weir_region region = {.lower = lower, .extent = extent, .data = (void*)mine};
  return weir_write_region(array, &region);
}

/* Returns when the step has ended. The caller waits for it, and closes the file. */
static int write_checkpoint(const mesh* mesh, const char* path, weir_session* session,
                            weir_file** file) {
  const int64_t extents[4] = {mesh->blocks, 3}, cells[] = {mesh->blocks, CELLS, CELLS, CELLS};
  const char* const of_place[] = {"block", "dimension"};
  const char* const of_cells[] = {"block", "z", "y", "x"};
  const weir_define_options blocks = {.dimension_names = of_place};
  const weir_define_options fields = {.dimension_names = of_cells};
  weir_array *level = NULL, *place = NULL, *variables[VARIABLES] = {NULL};
  int failed = weir_file_create(session, path, NULL, file) ||
               weir_file_define(*file, "level", 1, extents, "int32", &blocks, &level) ||
               weir_file_define(*file, "place", 2, extents, "int32", &blocks, &place);
  for (int v = 0; v < VARIABLES && !failed; ++v) {
    failed =
        weir_file_define(*file, variable_names[v], 4, cells, "float64", &fields, &variables[v]);
  }
  failed = failed || weir_file_step_begin(*file) ||
           write_blocks(level, mesh, extents, mesh->levels) ||
           write_blocks(place, mesh, extents, mesh->places);
  for (int v = 0; v < VARIABLES && !failed; ++v) {
    failed = write_blocks(variables[v], mesh, cells, mesh->cells[v]);
  }
  return failed || weir_file_step_end(*file);
}

/* Waits until the checkpoint in a file is on the disk, and closes it. */
static int finish_checkpoint(weir_file** file) {
  if (*file == NULL) return 0;
  const int failed = weir_file_step_wait(*file, INFINITY);
  return weir_file_close(file) || failed;
}

static int simulate(MPI_Comm ranks, run_settings settings) {
  mesh mesh = {0};
  weir_session* session = NULL;
  weir_file *file = NULL, *before = NULL;
  double blocked = 0, bytes = 0;
  int rank = 0, failed = weir_session_open(ranks, NULL, &session);
  MPI_Comm_rank(ranks, &rank);
  const double began = MPI_Wtime();
  for (int number = 0; number < settings.checkpoints && !failed; ++number) {
    const double time = (number + 1.0) / settings.checkpoints;
    if (!mesh_refine(&mesh, time, ranks)) MPI_Abort(MPI_COMM_WORLD, 1);
    mesh_compute(&mesh, time, settings.seconds);
    MPI_Barrier(ranks);
    const double computed = MPI_Wtime();
    char path[4096];
    snprintf(path, sizeof path, "%s/checkpoint_%04d.h5", settings.folder, number);
    failed = finish_checkpoint(&before) || write_checkpoint(&mesh, path, session, &file);
    before = file;
    blocked += MPI_Wtime() - computed;
    bytes += (double)mesh.blocks * CELLS * CELLS * CELLS * VARIABLES * sizeof(double);
  }
  const double computed = MPI_Wtime();
  failed = failed || finish_checkpoint(&before);
  blocked += MPI_Wtime() - computed;
  if (failed) fprintf(stderr, "%s\n", weir_last_error());
  if (rank == 0) {
    printf("%d checkpoints of %.0f MB together: blocked for %.2f s of %.2f s\n",
           settings.checkpoints, bytes / 1e6, blocked, MPI_Wtime() - began);
  }
  mesh_free(&mesh);
  return weir_session_close(&session) || failed;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const run_settings settings = read_settings(argc, argv);
  MPI_Comm ranks = MPI_COMM_NULL;
  int failed = weir_init_staging(MPI_COMM_WORLD, NULL, &ranks);
  if (failed) fprintf(stderr, "%s\n", weir_last_error());
  if (ranks != MPI_COMM_NULL) failed = simulate(ranks, settings);
  failed |= weir_finalize_staging(&ranks);
  return MPI_Finalize() || failed;
}

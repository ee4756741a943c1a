#include "mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a block begins along one dimension, in a cube of length 1; at `place + 1`, where it ends.
 */
static double edge(int32_t level, int32_t place) {
  return (double)place / ((double)COARSE_BLOCKS * (1 << level));
}

static double square(double value) { return value * value; }

/* Tells whether a block has parts on both sides of the wave. */
static int is_cut(mesh_block block, double radius) {
  const int32_t places[3] = {block.x, block.y, block.z};
  double nearest = 0, farthest = 0;
  for (int d = 0; d < 3; ++d) {
    const double low = edge(block.level, places[d]) - 0.5;
    const double high = edge(block.level, places[d] + 1) - 0.5;
    nearest += low > 0 ? square(low) : high < 0 ? square(high) : 0;
    farthest += fmax(square(low), square(high));
  }
  return nearest < square(radius) && square(radius) < farthest;
}

/* Visits a block, or the eight into which it is divided. Counts them, and keeps those of this rank
 * where the mesh has room for them. */
static void visit(mesh* mesh, mesh_block block, double radius, int64_t* number) {
  if (block.level < FINEST_LEVEL && is_cut(block, radius)) {
    for (int child = 0; child < 8; ++child) {
      const mesh_block smaller = {block.level + 1, 2 * block.x + (child & 1),
                                  2 * block.y + (child >> 1 & 1), 2 * block.z + (child >> 2)};
      visit(mesh, smaller, radius, number);
    }
    return;
  }
  const int64_t mine = (*number)++ - mesh->first;
  if (mine < 0 || mine >= mesh->count) return;
  mesh->levels[mine] = block.level;
  mesh->places[mine][0] = block.x;
  mesh->places[mine][1] = block.y;
  mesh->places[mine][2] = block.z;
}

static int64_t visit_all(mesh* mesh, double radius) {
  int64_t number = 0;
  for (int place = 0; place < COARSE_BLOCKS * COARSE_BLOCKS * COARSE_BLOCKS; ++place) {
    const mesh_block block = {0, place % COARSE_BLOCKS, place / COARSE_BLOCKS % COARSE_BLOCKS,
                              place / (COARSE_BLOCKS * COARSE_BLOCKS)};
    visit(mesh, block, radius, &number);
  }
  return number;
}

int mesh_refine(mesh* mesh, double time, MPI_Comm ranks) {
  int rank = 0, size = 1;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  mesh_free(mesh);
  mesh->blocks = visit_all(mesh, 0.5 * time);
  mesh->first = mesh->blocks * rank / size;
  mesh->count = mesh->blocks * (rank + 1) / size - mesh->first;
  const size_t room = mesh->count > 0 ? (size_t)mesh->count : 1;
  int enough = (mesh->levels = malloc(room * sizeof *mesh->levels)) != NULL;
  enough &= (mesh->places = malloc(room * sizeof *mesh->places)) != NULL;
  for (int v = 0; v < VARIABLES; ++v) {
    mesh->cells[v] = malloc(room * CELLS * CELLS * CELLS * sizeof(double));
    enough &= mesh->cells[v] != NULL;
  }
  if (enough) visit_all(mesh, 0.5 * time);
  return enough;
}

/* One cell: the wave is a peak of density and pressure, and the gas behind it moves outwards. */
static void compute_cell(mesh* mesh, int64_t cell, const double middle[3], double radius) {
  const double distance = sqrt(square(middle[0]) + square(middle[1]) + square(middle[2]));
  const double peak = exp(-square((distance - radius) / 0.05));
  mesh->cells[0][cell] = 1 + 3 * peak;
  mesh->cells[1][cell] = 1e-5 + peak;
  for (int d = 0; d < 3; ++d) mesh->cells[2 + d][cell] = peak * middle[d] / (distance + 1e-12);
}

static void compute_block(mesh* mesh, int64_t block, double radius) {
  int64_t cell = block * CELLS * CELLS * CELLS;
  const int32_t level = mesh->levels[block];
  const double width = (edge(level, 1) - edge(level, 0)) / CELLS;
  for (int z = 0; z < CELLS; ++z) {
    for (int y = 0; y < CELLS; ++y) {
      for (int x = 0; x < CELLS; ++x) {
        const double middle[3] = {edge(level, mesh->places[block][0]) + (x + 0.5) * width - 0.5,
                                  edge(level, mesh->places[block][1]) + (y + 0.5) * width - 0.5,
                                  edge(level, mesh->places[block][2]) + (z + 0.5) * width - 0.5};
        compute_cell(mesh, cell++, middle, radius);
      }
    }
  }
}

void mesh_compute(mesh* mesh, double time, double seconds) {
  const double end = MPI_Wtime() + seconds;
  for (int64_t block = 0; block < mesh->count; ++block) compute_block(mesh, block, 0.5 * time);
  while (MPI_Wtime() < end) continue;
}

void mesh_free(mesh* mesh) {
  free(mesh->levels);
  free(mesh->places);
  for (int v = 0; v < VARIABLES; ++v) free(mesh->cells[v]);
  memset(mesh, 0, sizeof *mesh);
}

run_settings read_settings(int argc, char** argv) {
  run_settings settings = {0};
  char *end = NULL, *end_of_seconds = NULL;
  if (argc == 4) {
    settings.folder = argv[1];
    settings.checkpoints = (int)strtol(argv[2], &end, 10);
    settings.seconds = strtod(argv[3], &end_of_seconds);
  }
  if (argc != 4 || *end != '\0' || *end_of_seconds != '\0' || settings.checkpoints < 1) {
    fprintf(stderr, "usage: %s FOLDER CHECKPOINTS SECONDS_OF_COMPUTING\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return settings;
}

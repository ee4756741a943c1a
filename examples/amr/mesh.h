/* The mesh of a small AMR program: a cube in which a shock wave runs outwards. Blocks of 16 x 16 x
 * 16 cells cover it; a block that the wave cuts is divided into eight smaller ones, up to twice. So
 * the number of blocks changes from step to step, and so does the number that a rank has. */
#pragma once

#include <mpi.h>
#include <stdint.h>

enum { CELLS = 16, VARIABLES = 5, COARSE_BLOCKS = 2, FINEST_LEVEL = 2 };

static const char* const variable_names[VARIABLES] = {"dens", "pres", "velx", "vely", "velz"};

typedef struct mesh_block {
  int32_t level, x, y, z; /* the place is counted in blocks of this level */
} mesh_block;

typedef struct mesh {
  int64_t blocks;           /* of all ranks */
  int64_t first, count;     /* this rank's: a contiguous part of them */
  int32_t* levels;          /* [count] */
  int32_t (*places)[3];     /* [count] */
  double* cells[VARIABLES]; /* [count][CELLS][CELLS][CELLS] each */
} mesh;

/* Divides the blocks anew, for a wave that has come as far as at this time (0 to 1), and
 * distributes them over the ranks. Returns 0 if there is not enough memory. */
int mesh_refine(mesh* mesh, double time, MPI_Comm ranks);

/* Computes all variables of this rank's blocks, and keeps the processor busy for some seconds. */
void mesh_compute(mesh* mesh, double time, double seconds);

void mesh_free(mesh* mesh);

/* What the user gives: PROGRAM FOLDER CHECKPOINTS SECONDS_OF_COMPUTING. */
typedef struct run_settings {
  const char* folder;
  int checkpoints;
  double seconds; /* of computing before each checkpoint */
} run_settings;

/* Ends the program with a line about its usage if these are not the arguments. */
run_settings read_settings(int argc, char** argv);

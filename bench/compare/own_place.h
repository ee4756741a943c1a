// Which rank a program of comparisons is, and how it ends where something does not hold.
#pragma once

#include <mpi.h>
#include <stdio.h>

struct Place {
  int rank;
  int ranks;
};

static struct Place own_place(void) {
  struct Place place;
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
  return place;
}

static void must(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: %s\n", own_place().rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// What the programs share that move an array of doubles in blocks, one for each rank, again and
// again, and print MiB/s. Each includes this file once.
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "own_place.h"

enum { most_times = 100 };

// The rank's part of the array.
struct Part {
  int sizes[3];
  int parts[3];
  int starts[3];
  int64_t elements;
};

static struct Part own_part(struct Place place, int64_t row_bytes, int64_t mebibytes) {
  int grid[3] = {0, 0, 0};
  MPI_Dims_create(place.ranks, 3, grid);
  const int at[3] = {place.rank / (grid[1] * grid[2]), place.rank / grid[2] % grid[1],
                     place.rank % grid[2]};
  struct Part part;
  part.parts[2] = (int)(row_bytes / (int64_t)sizeof(double));
  const int64_t rows = mebibytes * (1 << 20) / row_bytes / place.ranks;
  must(rows > 0, "the array has less than a row on each rank");
  part.parts[1] = 1;
  while ((int64_t)part.parts[1] * part.parts[1] < rows) part.parts[1] *= 2;
  part.parts[0] = (int)(rows / part.parts[1]);
  must(part.parts[0] > 0, "the array has too few rows");
  for (int d = 0; d < 3; ++d) {
    part.sizes[d] = grid[d] * part.parts[d];
    part.starts[d] = at[d] * part.parts[d];
  }
  part.elements = (int64_t)part.parts[0] * part.parts[1] * part.parts[2];
  must(part.elements <= INT32_MAX, "a rank's part has more than 2^31 elements");
  return part;
}

static double value(struct Place place, int64_t element, int time) {
  return (double)(element * place.ranks + place.rank) + 1e-3 * time;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// From the first rank's begin to the last rank's end. All ranks have the clock of one node.
static double span_of(double begin, double end) {
  const double ends[2] = {-begin, end};
  double all[2];
  MPI_Allreduce(ends, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all[1] + all[0];
}

static int by_size(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

static void print_rate(const char* name, const char* direction, double* seconds, int times,
                       double mebibytes) {
  qsort(seconds, (size_t)times, sizeof *seconds, by_size);
  if (own_place().rank == 0)
    printf("%s_%s %.1f\n", name, direction, mebibytes / seconds[times / 2]);
}

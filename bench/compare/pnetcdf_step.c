// Writes and reads steps of many variables by PnetCDF's nonblocking calls, as programs do, and
// prints MiB/s of each way.
//
//   pnetcdf_step FILE VARIABLES ROW_BYTES KIBIBYTES TIMES
//
// Every variable is a 3-D array of doubles over a grid of ranks (8: 2 x 2 x 2), of KIBIBYTES on
// each rank in rows of ROW_BYTES. A step posts a write or read of every variable and ends them
// together (ncmpi_wait_all). It is repeated TIMES times, and its rate is that of the median. What
// was read is verified outside the times. Nothing is made durable.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_times = 100, most_variables = 1000 };

static void must(int holds, const char* what) {
  if (holds) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "pnetcdf_step: rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static void done(int status) { must(status == NC_NOERR, ncmpi_strerror(status)); }

struct Step {
  int rank;
  int ranks;
  int file;
  int variables;
  int numbers[most_variables];
  MPI_Offset start[3];
  MPI_Offset count[3];
  MPI_Offset elements;
  double* memory;
};

static double value(const struct Step* step, int variable, MPI_Offset element, int time) {
  return (double)(element * step->ranks + step->rank) + 1e-3 * time + 1e9 * variable;
}

typedef int (*Post)(const struct Step* step, int variable, double* memory, int* request);
static int put(const struct Step* step, int variable, double* memory, int* request) {
  return ncmpi_iput_vara_double(step->file, step->numbers[variable], step->start, step->count,
                                memory, request);
}
static int put_buffered(const struct Step* step, int variable, double* memory, int* request) {
  return ncmpi_bput_vara_double(step->file, step->numbers[variable], step->start, step->count,
                                memory, request);
}
static int get(const struct Step* step, int variable, double* memory, int* request) {
  return ncmpi_iget_vara_double(step->file, step->numbers[variable], step->start, step->count,
                                memory, request);
}

// Returns the seconds of the slowest rank.
static double seconds_of(const struct Step* step, Post post) {
  static int requests[most_variables], statuses[most_variables];
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = -MPI_Wtime();
  for (int i = 0; i < step->variables; ++i)
    done(post(step, i, step->memory + i * step->elements, &requests[i]));
  done(ncmpi_wait_all(step->file, step->variables, requests, statuses));
  seconds += MPI_Wtime();
  for (int i = 0; i < step->variables; ++i) done(statuses[i]);
  double longest = 0;
  MPI_Allreduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

static void fill(const struct Step* step, int time) {
  for (int i = 0; i < step->variables; ++i)
    for (MPI_Offset k = 0; k < step->elements; ++k)
      step->memory[i * step->elements + k] = value(step, i, k, time);
}

static void check(const struct Step* step, int time) {
  for (int i = 0; i < step->variables; ++i)
    for (MPI_Offset k = 0; k < step->elements; ++k)
      must(step->memory[i * step->elements + k] == value(step, i, k, time),
           "what was read is wrong");
}

static int by_size(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

static void print_rate(const char* name, const struct Step* step, double* seconds, int times) {
  qsort(seconds, (size_t)times, sizeof *seconds, by_size);
  const double bytes =
      (double)step->ranks * step->variables * (double)step->elements * sizeof(double);
  if (step->rank == 0) printf("%s %.1f\n", name, bytes / (1 << 20) / seconds[times / 2]);
}

static void define(struct Step* step, const char* path, MPI_Offset row, MPI_Offset kibibytes) {
  const int rank = step->rank;
  int grid[3] = {0, 0, 0};
  MPI_Dims_create(step->ranks, 3, grid);
  const int at[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
  const MPI_Offset rows = kibibytes * 1024 / row;
  step->count[2] = row / (MPI_Offset)sizeof(double);
  step->count[1] = 1;
  while (step->count[1] * step->count[1] < rows) step->count[1] *= 2;
  step->count[0] = rows / step->count[1];
  must(step->count[0] > 0 && step->count[2] > 0, "a variable has too few rows");
  step->elements = step->count[0] * step->count[1] * step->count[2];
  done(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &step->file));
  int dimensions[3];
  for (int d = 0; d < 3; ++d) {
    const char name[] = {(char)('x' + d), '\0'};
    step->start[d] = at[d] * step->count[d];
    done(ncmpi_def_dim(step->file, name, grid[d] * step->count[d], &dimensions[d]));
  }
  for (int i = 0; i < step->variables; ++i) {
    char name[32];
    snprintf(name, sizeof name, "variable_%d", i);
    done(ncmpi_def_var(step->file, name, NC_DOUBLE, 3, dimensions, &step->numbers[i]));
  }
  done(ncmpi_enddef(step->file));
}

int main(int argc, char** argv) {
  static struct Step step;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &step.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &step.ranks);
  must(argc == 6, "usage: pnetcdf_step FILE VARIABLES ROW_BYTES KIBIBYTES TIMES");
  step.variables = (int)strtol(argv[2], NULL, 10);
  const int times = (int)strtol(argv[5], NULL, 10);
  must(step.variables > 0 && step.variables <= most_variables, "VARIABLES is 1 to 1000");
  must(times > 0 && times <= most_times, "TIMES is 1 to 100");
  define(&step, argv[1], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10));
  const MPI_Offset all = step.variables * step.elements * (MPI_Offset)sizeof(double);
  step.memory = malloc((size_t)all);
  must(step.memory != NULL, "no memory");
  done(ncmpi_buffer_attach(step.file, all));
  double seconds[3][most_times];
  for (int time = 0; time < times; ++time) {
    for (int buffered = 0; buffered < 2; ++buffered) {
      fill(&step, 2 * time + buffered);
      seconds[buffered][time] = seconds_of(&step, buffered ? put_buffered : put);
    }
    memset(step.memory, 0, (size_t)all);
    seconds[2][time] = seconds_of(&step, get);
    check(&step, 2 * time + 1);
  }
  print_rate("iput_write", &step, seconds[0], times);
  print_rate("bput_write", &step, seconds[1], times);
  print_rate("iget_read", &step, seconds[2], times);
  done(ncmpi_buffer_detach(step.file));
  done(ncmpi_close(step.file));
  free(step.memory);
  MPI_Finalize();
  return 0;
}

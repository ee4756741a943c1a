// Writes and reads a shared file by MPI-IO, as programs do, and prints MiB/s of each pattern.
//
//   mpi_patterns FILE ROW_BYTES MEBIBYTES TIMES
//
// The file has an array of doubles over a grid of ranks (8: 2 x 2 x 2), so that each rank's rows
// have ROW_BYTES. Each pattern is written and read TIMES times, and its rate is that of the median,
// so that with 3 times or more the first one, which opens Weir's session, does not count. What was
// read is verified outside the times. Nothing is made durable.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_times = 100 };

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
  fprintf(stderr, "mpi_patterns: rank %d: %s\n", own_place().rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

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

typedef int (*Move)(MPI_File file, void* memory, int count, MPI_Status* status);
static int write_all(MPI_File file, void* memory, int count, MPI_Status* status) {
  return MPI_File_write_at_all(file, 0, memory, count, MPI_DOUBLE, status);
}
static int read_all(MPI_File file, void* memory, int count, MPI_Status* status) {
  return MPI_File_read_at_all(file, 0, memory, count, MPI_DOUBLE, status);
}
static int write_own(MPI_File file, void* memory, int count, MPI_Status* status) {
  return MPI_File_write_at(file, 0, memory, count, MPI_DOUBLE, status);
}
static int read_own(MPI_File file, void* memory, int count, MPI_Status* status) {
  return MPI_File_read_at(file, 0, memory, count, MPI_DOUBLE, status);
}
static int write_later(MPI_File file, void* memory, int count, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int begun = MPI_File_iwrite_at(file, 0, memory, count, MPI_DOUBLE, &request);
  return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, status);
}
static int read_later(MPI_File file, void* memory, int count, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int begun = MPI_File_iread_at(file, 0, memory, count, MPI_DOUBLE, &request);
  return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, status);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// From the first rank's begin to the last rank's end. All ranks have the clock of one node.
static double seconds_of(Move move, MPI_File file, double* memory, int count) {
  MPI_Status status;
  int moved = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double ends[2];
  ends[0] = -now();
  must(move(file, memory, count, &status) == MPI_SUCCESS, "a transfer failed");
  ends[1] = now();
  MPI_Get_count(&status, MPI_DOUBLE, &moved);
  must(moved == count, "a transfer moved fewer elements");
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

static void measure(const char* name, MPI_File file, Move write, Move read, double* memory,
                    int count, int times) {
  double writing[most_times];
  double reading[most_times];
  const struct Place place = own_place();
  for (int time = 0; time < times; ++time) {
    for (int i = 0; i < count; ++i) memory[i] = value(place, i, time);
    writing[time] = seconds_of(write, file, memory, count);
    memset(memory, 0, sizeof(double) * (size_t)count);
    reading[time] = seconds_of(read, file, memory, count);
    for (int i = 0; i < count; ++i)
      must(memory[i] == value(place, i, time), "what was read is wrong");
  }
  const double mebibytes = (double)place.ranks * count * sizeof(double) / (1 << 20);
  print_rate(name, "write", writing, times, mebibytes);
  print_rate(name, "read", reading, times, mebibytes);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct Place place = own_place();
  must(argc == 5, "usage: mpi_patterns FILE ROW_BYTES MEBIBYTES TIMES");
  const struct Part part = own_part(place, strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
  const int times = (int)strtol(argv[4], NULL, 10);
  must(times > 0 && times <= most_times, "TIMES is 1 to 100");
  const int count = (int)part.elements;
  double* const memory = malloc(sizeof(double) * (size_t)count);
  must(memory != NULL, "no memory");
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, part.sizes, part.parts, part.starts, MPI_ORDER_C, MPI_DOUBLE, &block);
  MPI_Type_commit(&block);
  MPI_File file = MPI_FILE_NULL;
  must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                     &file) == MPI_SUCCESS,
       "the file cannot be opened");
  MPI_File_set_view(file, 0, MPI_DOUBLE, block, "native", MPI_INFO_NULL);
  measure("blocks", file, write_all, read_all, memory, count, times);
  measure("own_blocks", file, write_own, read_own, memory, count, times);
  const MPI_Offset begin = (MPI_Offset)place.rank * count * (MPI_Offset)sizeof(double);
  MPI_File_set_view(file, begin, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
  measure("pieces", file, write_all, read_all, memory, count, times);
  measure("own_pieces", file, write_own, read_own, memory, count, times);
  measure("later_pieces", file, write_later, read_later, memory, count, times);
  MPI_File_close(&file);
  MPI_Type_free(&block);
  free(memory);
  MPI_Finalize();
  return 0;
}

// Writes and reads a shared file by MPI-IO, as programs do, and prints MiB/s of each pattern.
//
//   mpi_patterns FILE ROW_BYTES MEBIBYTES TIMES
//
// The file has an array of doubles over a grid of ranks (8: 2 x 2 x 2), so that each rank's rows
// have ROW_BYTES. Each pattern is written and read TIMES times, and its rate is that of the median,
// so that with 3 times or more the first one, which opens Weir's session, does not count. What was
// read is verified outside the times. Nothing is made durable.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "blocks_of_ranks.h"

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

static double seconds_of(Move move, MPI_File file, double* memory, int count) {
  MPI_Status status;
  int moved = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  must(move(file, memory, count, &status) == MPI_SUCCESS, "a transfer failed");
  const double end = now();
  MPI_Get_count(&status, MPI_DOUBLE, &moved);
  must(moved == count, "a transfer moved fewer elements");
  return span_of(begin, end);
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

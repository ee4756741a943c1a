// Writes and reads rows of a shared file by MPI-IO, each kind of call by a function of its own, so
// that their times can be told apart by function.
//
//   rows_of_ranks FILE ROW_BYTES ROWS TIMES
//
// Each rank has ROWS rows of ROW_BYTES, and the rows of the ranks follow each other in turn. They
// are moved by explicit offsets (write_at_all, read_at_all, write_at, read_at), each TIMES times.
// As many bytes of each rank in one piece are moved at the file pointer (write_all, read_all,
// write, read). What was read is verified. Nothing is made durable.
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "own_place.h"

typedef int (*MoveAt)(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*);
typedef int (*Move)(MPI_File, void*, int, MPI_Datatype, MPI_Status*);

static int write_at_all(MPI_File file, MPI_Offset at, void* memory, int count, MPI_Datatype type,
                        MPI_Status* status) {
  return MPI_File_write_at_all(file, at, memory, count, type, status);
}
static int write_at(MPI_File file, MPI_Offset at, void* memory, int count, MPI_Datatype type,
                    MPI_Status* status) {
  return MPI_File_write_at(file, at, memory, count, type, status);
}
static int write_all(MPI_File file, void* memory, int count, MPI_Datatype type,
                     MPI_Status* status) {
  return MPI_File_write_all(file, memory, count, type, status);
}
static int write_own(MPI_File file, void* memory, int count, MPI_Datatype type,
                     MPI_Status* status) {
  return MPI_File_write(file, memory, count, type, status);
}

static void fill(unsigned char* memory, int bytes, int time) {
  const int first = own_place().rank + 31 * time;
  for (int i = 0; i < bytes; ++i) memory[i] = (unsigned char)(first + i);
}

// Ranks wait for each other first, so that none takes the processor from another's call.
static void verify(const unsigned char* memory, int bytes, int time) {
  const int first = own_place().rank + 31 * time;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < bytes; ++i)
    must(memory[i] == (unsigned char)(first + i), "what was read is wrong");
}

static void move_rows(MPI_File file, unsigned char* memory, int bytes, int times, MoveAt write,
                      MoveAt read) {
  for (int time = 0; time < times; ++time) {
    fill(memory, bytes, time);
    MPI_Barrier(MPI_COMM_WORLD);
    must(write(file, 0, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a write");
    MPI_Barrier(MPI_COMM_WORLD);
    memset(memory, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    must(read(file, 0, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a read");
    verify(memory, bytes, time);
  }
}

static void move_pieces(MPI_File file, unsigned char* memory, int bytes, int times, Move write,
                        Move read) {
  for (int time = 0; time < times; ++time) {
    fill(memory, bytes, time);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_Barrier(MPI_COMM_WORLD);
    must(write(file, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a write");
    MPI_Barrier(MPI_COMM_WORLD);
    memset(memory, 0, (size_t)bytes);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_Barrier(MPI_COMM_WORLD);
    must(read(file, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a read");
    verify(memory, bytes, time);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct Place place = own_place();
  must(argc == 5, "usage: rows_of_ranks FILE ROW_BYTES ROWS TIMES");
  const int row = (int)strtol(argv[2], NULL, 10);
  const int rows = (int)strtol(argv[3], NULL, 10);
  const int times = (int)strtol(argv[4], NULL, 10);
  must(row > 0 && rows > 0 && (int64_t)row * rows <= INT32_MAX, "a rank has 1 to 2^31 bytes");
  const int bytes = row * rows;
  unsigned char* const memory = malloc((size_t)bytes);
  must(memory != NULL, "no memory");
  MPI_Datatype in_turn = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, row, row * place.ranks, MPI_BYTE, &in_turn);
  MPI_Type_commit(&in_turn);
  MPI_File file = MPI_FILE_NULL;
  must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                     &file) == MPI_SUCCESS,
       "the file cannot be opened");
  MPI_File_set_view(file, (MPI_Offset)place.rank * row, MPI_BYTE, in_turn, "native", MPI_INFO_NULL);
  move_rows(file, memory, bytes, times, write_at_all, MPI_File_read_at_all);
  move_rows(file, memory, bytes, times, write_at, MPI_File_read_at);
  MPI_File_set_view(file, (MPI_Offset)place.rank * bytes, MPI_BYTE, MPI_BYTE, "native",
                    MPI_INFO_NULL);
  move_pieces(file, memory, bytes, times, write_all, MPI_File_read_all);
  move_pieces(file, memory, bytes, times, write_own, MPI_File_read);
  MPI_File_close(&file);
  MPI_Type_free(&in_turn);
  free(memory);
  MPI_Finalize();
  return 0;
}

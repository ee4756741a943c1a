/* Calls of one rank in views of which one has too many blocks for Weir to decode. Each rank writes
 * in turn, so that the file and what is printed are the same whoever carries the calls out.
 *
 *   mpiio_irregular_views FILE */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { blocks = 60000, part = 1000 };

static int rank, ranks;
static MPI_File file;

static void must(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Bytes at places that no stride describes, in each third element of 8 bytes from `first` on. */
static MPI_Datatype irregular(int first) {
  static int places[blocks];
  MPI_Datatype made = MPI_DATATYPE_NULL;
  unsigned drawn = 1;
  for (int i = 0; i < blocks; ++i) {
    drawn = drawn * 1664525U + 1013904223U;
    places[i] = 24 * i + 8 * first + (int)(drawn >> 16U) % 7;
  }
  MPI_Type_create_indexed_block(blocks, 1, places, MPI_BYTE, &made);
  MPI_Type_commit(&made);
  return made;
}

static void tell(const char* what, MPI_Offset value) {
  printf("rank %d, %s: %lld\n", rank, what, (long long)value);
  fflush(stdout);
}

static void write_alone(void) {
  static char bytes[part];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Offset at = 0;
  for (int i = 0; i < part; ++i) bytes[i] = (char)(1 + (rank * 50 + i) % 250);
  must(MPI_File_write_at(file, 100, bytes, part, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "write_at");
  must(MPI_File_seek(file, 5000, MPI_SEEK_SET) == 0, "seek");
  must(MPI_File_write(file, bytes, part, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "write");
  must(MPI_File_seek(file, 17, MPI_SEEK_CUR) == 0, "seek on");
  MPI_File_get_position(file, &at);
  tell("position", at);
  must(MPI_File_iwrite(file, bytes, part, MPI_BYTE, &request) == 0, "iwrite");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_get_byte_offset(file, 4321, &at);
  tell("byte", at);
  must(MPI_File_write_shared(file, bytes, 50 + rank, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "shared");
  MPI_File_get_position_shared(file, &at);
  tell("shared position", at);
}

/* The ranks come here together; the first round begins the session of Weir. */
static void write_together(MPI_Offset at) {
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  static char bytes[part];
  MPI_Type_vector(10, 10, 10 * ranks, MPI_BYTE, &rows);
  MPI_Type_commit(&rows);
  must(MPI_File_set_view(file, at + 10 * (MPI_Offset)rank, MPI_BYTE, rows, "native",
                         MPI_INFO_NULL) == 0,
       "set_view of rows");
  must(MPI_File_write_at_all(file, 0, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE) == 0, "rows");
  MPI_Type_free(&rows);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  must(argc == 2, "give the path of a file");
  must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                     &file) == 0,
       "open");
  MPI_File_set_size(file, 24 * blocks + 10000);
  write_together(24 * blocks);
  for (int round = 0; round < 2; ++round) {
    MPI_Datatype view = irregular(rank);
    const int is_simple = round == 1 && rank == 0;
    must(MPI_File_set_view(file, 0, MPI_BYTE, is_simple ? MPI_BYTE : view, "native",
                           MPI_INFO_NULL) == 0,
         "set_view");
    MPI_Type_free(&view);
    for (int turn = 0; turn < ranks; ++turn) {
      if (turn == rank) write_alone();
      MPI_Barrier(MPI_COMM_WORLD);
    }
    must(MPI_File_seek_shared(file, 3, MPI_SEEK_CUR) == 0, "seek_shared");
    MPI_Offset at = 0;
    MPI_File_get_position_shared(file, &at);
    tell("shared position behind all", at);
    write_together(24 * blocks + 5000);
  }
  MPI_File_close(&file);
  MPI_Finalize();
  return EXIT_SUCCESS;
}

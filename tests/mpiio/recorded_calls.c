/* Makes calls of MPI-IO that test_record.py records: mpiio_recorded_calls FILE KIND [N]...
 *
 * - "steps N": N collective writes of a rank's columns of a matrix of 64 x 8 doubles per rank,
 * reads by all ways, and one call in which only rank 0 has bytes
 *
 * - "shapes N": a write of two ints for each of N distances between them
 *
 * - "blocks N...": for each N, a write through a view of N blocks, of one and two ints in turn,
 * which have no pattern
 *
 * - "shared": a write at the shared file pointer, and one at offset 0
 *
 * - "ends N...": for each N, a read of N bytes at the end of the file, of which the file has none
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { rows = 64, columns = 8 };

static int rank, ranks;

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "%s failed: %d\n", what, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_File opened(MPI_Comm communicator, const char* path) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(communicator, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        "MPI_File_open");
  return file;
}

static void view(MPI_File file, MPI_Offset start, MPI_Datatype element, MPI_Datatype type) {
  check(MPI_File_set_view(file, start, element, type, "native", MPI_INFO_NULL),
        "MPI_File_set_view");
}

static void make_steps(const char* path, int steps) {
  const int sizes[2] = {rows, columns * ranks};
  const int part[2] = {rows, columns};
  const int start[2] = {0, columns * rank};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  double memory[rows * columns] = {0};
  MPI_File file = opened(MPI_COMM_WORLD, path);
  for (int step = 0; step < steps; ++step) {
    const MPI_Offset at = (MPI_Offset)step * rows * columns * ranks * (MPI_Offset)sizeof(double);
    view(file, at, MPI_DOUBLE, type);
    check(MPI_File_write_all(file, memory, rows * columns, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "MPI_File_write_all");
  }
  check(MPI_File_sync(file), "MPI_File_sync");
  check(MPI_File_read_at_all(file, 0, memory, rows * columns, MPI_DOUBLE, MPI_STATUS_IGNORE),
        "MPI_File_read_at_all");
  /* Two rows of the view, then all of the first row from the beginning of the file. */
  check(MPI_File_read_at(file, columns, memory, 2 * columns, MPI_DOUBLE, MPI_STATUS_IGNORE),
        "MPI_File_read_at");
  view(file, 0, MPI_BYTE, MPI_BYTE);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_File_iread_at(file, 0, memory, columns, MPI_DOUBLE, &request), "MPI_File_iread_at");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(MPI_File_write_at_all(file, 8, memory, rank == 0 ? 3 : 0, MPI_INT, MPI_STATUS_IGNORE),
        "MPI_File_write_at_all");
  check(MPI_File_close(&file), "MPI_File_close");
  MPI_Type_free(&type);
}

static void make_shapes(const char* path, int shapes) {
  MPI_File file = opened(MPI_COMM_SELF, path);
  const int memory[2] = {1, 2};
  for (int i = 0; i < shapes; ++i) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, i + 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    view(file, 0, MPI_INT, type);
    check(MPI_File_write_at(file, 0, memory, 2, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_at");
    MPI_Type_free(&type);
  }
  check(MPI_File_close(&file), "MPI_File_close");
}

static void make_blocks(MPI_File file, int blocks) {
  int* const lengths = malloc(sizeof(int) * (size_t)blocks);
  int* const places = malloc(sizeof(int) * (size_t)blocks);
  int total = 0;
  for (int i = 0; i < blocks; ++i) {
    lengths[i] = 1 + i % 2;
    places[i] = 4 * i;
    total += lengths[i];
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_indexed(blocks, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  view(file, 0, MPI_INT, type);
  int* const memory = calloc((size_t)total, sizeof(int));
  check(MPI_File_write_at(file, 0, memory, total, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_at");
  free(memory);
  MPI_Type_free(&type);
  free(lengths);
  free(places);
}

/* No page of the memory is touched, so that a call of 2 GiB costs as little as a short one. */
static void read_at_the_end(MPI_File file, int bytes) {
  void* const memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory == MAP_FAILED ? MPI_ERR_NO_MEM : MPI_SUCCESS, "mmap");
  check(MPI_File_read_at(file, 4, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_read_at");
  munmap(memory, (size_t)bytes);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) return 2;
  if (strcmp(argv[2], "steps") == 0 && argc == 4)
    make_steps(argv[1], (int)strtol(argv[3], NULL, 10));
  if (strcmp(argv[2], "shapes") == 0 && argc == 4)
    make_shapes(argv[1], (int)strtol(argv[3], NULL, 10));
  if (strcmp(argv[2], "blocks") == 0) {
    MPI_File file = opened(MPI_COMM_SELF, argv[1]);
    for (int i = 3; i < argc; ++i) make_blocks(file, (int)strtol(argv[i], NULL, 10));
    check(MPI_File_close(&file), "MPI_File_close");
  }
  if (strcmp(argv[2], "shared") == 0) {
    MPI_File file = opened(MPI_COMM_WORLD, argv[1]);
    check(MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE),
          "MPI_File_write_shared");
    check(MPI_File_write_at(file, 0, &rank, 1, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_at");
    check(MPI_File_close(&file), "MPI_File_close");
  }
  if (strcmp(argv[2], "ends") == 0) {
    MPI_File file = opened(MPI_COMM_SELF, argv[1]);
    check(MPI_File_write_at(file, 0, &rank, 1, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_at");
    for (int i = 3; i < argc; ++i) read_at_the_end(file, (int)strtol(argv[i], NULL, 10));
    check(MPI_File_close(&file), "MPI_File_close");
  }
  MPI_Finalize();
  return 0;
}

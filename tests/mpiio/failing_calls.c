/* Makes calls of MPI-IO that fail, or are at limits of Weir, and prints the error class on each
 * rank, for test_take_over.py.
 *
 *   failing_calls invalid KIND          of invalid arguments
 *   failing_calls limits                with views of nested and of large datatypes
 *   failing_calls write KIND FILE       a write that the storage may refuse, and the same once more
 *   failing_calls read KIND FILE        the same of a read
 *
 * KIND is collective or independent. The file is closed with the fault that FAULT_OF_CLOSE has
 * (tests/failure/faulty_io.c).
 * KIND pieces: collective calls in which the bytes of a rank are one block, and piece: independent
 * ones; otherwise each rank has every so manieth block of 4096 bytes of FILE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block_ints = 1024, blocks = 64, ints = block_ints * blocks };
static int rank;
static int ranks;

typedef int (*Write)(MPI_File, MPI_Offset, const void*, int, MPI_Datatype, MPI_Status*);
typedef int (*Read)(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*);
static Write write_at = MPI_File_write_at_all;
static Read read_at = MPI_File_read_at_all;
static int in_pieces;

static void show(const char* call, int result) {
  int class = 0;
  MPI_Error_class(result, &class);
  printf("rank %d, %s: %d\n", rank, call, class);
  fflush(stdout);
}

static MPI_File opened(const char* path, int mode) {
  MPI_File file = MPI_FILE_NULL;
  if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  return file;
}

static void call_with_invalid_arguments(void) {
  int values[4] = {1, 2, 3, 4};
  MPI_Status status;
  MPI_Datatype open_type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &open_type);
  MPI_File file = opened("failing.out", MPI_MODE_RDWR | MPI_MODE_CREATE);
  show("write", write_at(file, 16 * rank, values, 4, MPI_INT, &status));
  show("count below 0", write_at(file, 0, values, -1, MPI_INT, &status));
  show("no datatype", write_at(file, 0, values, 1, MPI_DATATYPE_NULL, &status));
  show("datatype not committed", write_at(file, 0, values, 1, open_type, &status));
  MPI_File_close(&file);
  file = opened("failing.out", MPI_MODE_RDONLY);
  show("read", read_at(file, 16 * rank, values, 4, MPI_INT, &status));
  show("read-only", write_at(file, 0, values, 1, MPI_INT, &status));
  MPI_File_close(&file);
  file = opened("failing.out", MPI_MODE_WRONLY);
  show("write-only", read_at(file, 0, values, 1, MPI_INT, &status));
  MPI_File_close(&file);
  MPI_Type_free(&open_type);
}

/* Writes four integers to each rank's part of a view. */
static void write_to(MPI_File file, MPI_Datatype view, const char* name) {
  const int values[] = {1, 2, 3, 4};
  MPI_Status status;
  MPI_Type_commit(&view);
  MPI_File_set_view(file, 16 * rank, MPI_BYTE, view, "native", MPI_INFO_NULL);
  MPI_Type_free(&view);
  show(name, MPI_File_write_at_all(file, 0, values, 4, MPI_INT, &status));
}

static void use_nested_view(MPI_File file, int times, const char* name) {
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(16, MPI_BYTE, &view);
  for (int i = 0; i < times; ++i) {
    MPI_Datatype inner = view;
    MPI_Type_dup(inner, &view);
    MPI_Type_free(&inner);
  }
  write_to(file, view, name);
}

static void use_large_view(MPI_File file, int count, const char* name) {
  int* const numbers = malloc(sizeof(int) * 2 * (size_t)count);
  if (numbers == NULL) MPI_Abort(MPI_COMM_WORLD, 8);
  for (int i = 0; i < count; ++i) {
    numbers[i] = 1;
    numbers[count + i] = i;
  }
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_indexed(count, numbers, numbers + count, MPI_BYTE, &view);
  free(numbers);
  write_to(file, view, name);
}

static void call_at_limits(void) {
  MPI_File file = opened("failing.out", MPI_MODE_RDWR | MPI_MODE_CREATE);
  use_nested_view(file, 20, "nested");
  use_nested_view(file, 40, "too nested");
  use_large_view(file, 1 << 18, "large");
  use_large_view(file, 1 << 19, "too large"); /* it has one number more than twice this */
  MPI_File_close(&file);
}

static void transfer_twice(int writing, const char* path) {
  int* const values = malloc(sizeof(int) * ints);
  if (values == NULL) MPI_Abort(MPI_COMM_WORLD, 8);
  MPI_File file = opened(path, writing ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY);
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_vector(blocks, block_ints, in_pieces ? block_ints : block_ints * ranks, MPI_INT, &view);
  MPI_Type_commit(&view);
  MPI_File_set_view(file, (MPI_Offset)sizeof(int) * (in_pieces ? ints : block_ints) * rank, MPI_INT,
                    view, "native", MPI_INFO_NULL);
  MPI_Type_free(&view);
  for (int time = 0; time < 2; ++time) {
    for (int i = 0; i < ints; ++i) values[i] = writing ? rank * ints + i : 0;
    MPI_Status status;
    const int result = writing ? write_at(file, 0, values, ints, MPI_INT, &status)
                               : read_at(file, 0, values, ints, MPI_INT, &status);
    show(time == 0 ? "first" : "second", result);
    int wrong = 0;
    for (int i = 0; i < ints; ++i) wrong += values[i] != rank * ints + i;
    if (result == MPI_SUCCESS) printf("rank %d: %d are wrong\n", rank, wrong);
  }
  const char* const fault = getenv("FAULT_OF_CLOSE");
  if (fault != NULL) {
    setenv("WEIR_FAULT", fault, 1);
    fsync(STDERR_FILENO); /* close() alone does not look at the variable */
  }
  show("close", MPI_File_close(&file));
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int is_piece = argc > 2 && strcmp(argv[2], "piece") == 0;
  if (is_piece || (argc > 2 && strcmp(argv[2], "independent") == 0)) {
    write_at = MPI_File_write_at;
    read_at = MPI_File_read_at;
  }
  in_pieces = is_piece || (argc > 2 && strcmp(argv[2], "pieces") == 0);
  if (argc > 3) {
    transfer_twice(strcmp(argv[1], "write") == 0, argv[3]);
  } else if (argc > 1 && strcmp(argv[1], "limits") == 0) {
    call_at_limits();
  } else {
    call_with_invalid_arguments();
  }
  MPI_Finalize();
  return 0;
}

/* Makes calls by two threads at the same time, with MPI_THREAD_MULTIPLE: mpiio_threads FILE OTHER.
 *
 * The first thread opens FILE, and the second one OTHER. Each writes its file collectively by many
 * calls, in turn with the other or not, as it comes. Then calls on FILE follow one another, some of
 * them by the second thread: on all ranks, on rank 0 alone, independent, and one that sets a view.
 * Both files are read again and compared; the second thread closes FILE.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { calls = 20, numbers = 64 };

static int rank, ranks;

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "%s failed: %d\n", what, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(int* memory, int call) {
  for (int i = 0; i < numbers; ++i) memory[i] = (call * ranks + rank) * numbers + i;
}

/* Where the view of a rank has the numbers of a call. */
static MPI_Offset place(int call) { return (MPI_Offset)call * numbers; }

/* Each rank has every so-many-th number. */
static void set_view(MPI_File file) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * ranks, &type);
  MPI_Type_commit(&type);
  check(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * rank, MPI_INT, type, "native",
                          MPI_INFO_NULL),
        "MPI_File_set_view");
  MPI_Type_free(&type);
}

static void write_all(MPI_File file, int call) {
  int memory[numbers];
  fill(memory, call);
  check(MPI_File_write_at_all(file, place(call), memory, numbers, MPI_INT, MPI_STATUS_IGNORE),
        "MPI_File_write_at_all");
}

static void write_alone(MPI_File file, int call) {
  int memory[numbers];
  fill(memory, call);
  check(MPI_File_write_at(file, place(call), memory, numbers, MPI_INT, MPI_STATUS_IGNORE),
        "MPI_File_write_at");
}

static void compare(MPI_File file, int most) {
  for (int call = 0; call < most; ++call) {
    int expected[numbers], memory[numbers] = {0};
    fill(expected, call);
    check(MPI_File_read_at(file, place(call), memory, numbers, MPI_INT, MPI_STATUS_IGNORE),
          "MPI_File_read_at");
    for (int i = 0; i < numbers; ++i) {
      check(memory[i] == expected[i] ? MPI_SUCCESS : MPI_ERR_OTHER, "the comparison");
    }
  }
}

static MPI_File opened(const char* path, MPI_Comm communicator) {
  MPI_File file = MPI_FILE_NULL;
  check(MPI_File_open(communicator, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        "MPI_File_open");
  set_view(file);
  return file;
}

static void write_many(MPI_File file) {
  for (int call = 0; call < calls; ++call) write_all(file, call);
}

struct Other {
  const char* path;
  MPI_Comm communicator;
  MPI_File file;
};

static void* use_other(void* argument) {
  const struct Other* const other = argument;
  MPI_File file = opened(other->path, other->communicator);
  write_many(file);
  compare(file, calls);
  check(MPI_File_close(&file), "MPI_File_close");
  return NULL;
}

static void* set_view_again(void* argument) {
  set_view(((struct Other*)argument)->file);
  return NULL;
}
static void* write_together(void* argument) {
  write_all(((struct Other*)argument)->file, calls);
  return NULL;
}
static void* write_last(void* argument) {
  write_all(((struct Other*)argument)->file, calls + 1);
  return NULL;
}
static void* write_by_itself(void* argument) {
  write_alone(((struct Other*)argument)->file, calls + 2);
  return NULL;
}
static void* close_it(void* argument) {
  check(MPI_File_close(&((struct Other*)argument)->file), "MPI_File_close");
  return NULL;
}

static void by_thread(void* (*call)(void*), struct Other* other) {
  pthread_t thread = 0;
  check(pthread_create(&thread, NULL, call, other), "pthread_create");
  check(pthread_join(thread, NULL), "pthread_join");
}

int main(int argc, char** argv) {
  int given = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  if (argc != 3 || given != MPI_THREAD_MULTIPLE) return 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  struct Other other = {argv[2], MPI_COMM_NULL, MPI_FILE_NULL};
  MPI_Comm_dup(MPI_COMM_WORLD, &other.communicator);
  other.file = opened(argv[1], MPI_COMM_WORLD);
  pthread_t thread = 0;
  check(pthread_create(&thread, NULL, use_other, &other), "pthread_create");
  write_many(other.file);
  check(pthread_join(thread, NULL), "pthread_join");
  by_thread(write_together, &other);
  if (rank == 0) by_thread(write_last, &other);
  if (rank != 0) write_last(&other);
  by_thread(write_by_itself, &other);
  by_thread(set_view_again, &other);
  write_all(other.file, calls + 3);
  MPI_Barrier(MPI_COMM_WORLD);
  compare(other.file, calls + 4);
  by_thread(close_it, &other);
  MPI_Comm_free(&other.communicator);
  MPI_Finalize();
  return 0;
}

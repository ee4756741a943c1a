/* Calls each function of MPI-IO at least once and prints what it returned, for test_mpi_io.py: with
 * and without the library that counts, output and files have to be equal. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { values_of_a_call = 8 };
static int rank;
static int ranks;

/* Prints the class of an error that a call returned. */
static int told(const char* call, int result) {
  if (result == MPI_SUCCESS) return result;
  int class = -1;
  MPI_Error_class(result, &class);
  printf("rank %d: %.40s: class %d\n", rank, call, class);
  return result;
}
#define TRY(call) told(#call, call)

static void fill(int* values, int from) {
  for (int i = 0; i < values_of_a_call; ++i) values[i] = rank * 1000 + from + i;
}

static void show(const char* what, const int* values, MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  printf("rank %d: %s: %d from %d\n", rank, what, count, values[0]);
}

static void queries(MPI_File file) {
  MPI_Offset size = -1;
  TRY(MPI_File_set_size(file, 64));
  TRY(MPI_File_preallocate(file, 128));
  TRY(MPI_File_get_size(file, &size));
  MPI_Group group = MPI_GROUP_NULL;
  int members = -1;
  TRY(MPI_File_get_group(file, &group));
  MPI_Group_size(group, &members);
  MPI_Group_free(&group);
  int mode = -1;
  TRY(MPI_File_get_amode(file, &mode));
  MPI_Info info = MPI_INFO_NULL;
  TRY(MPI_File_get_info(file, &info));
  TRY(MPI_File_set_info(file, info));
  MPI_Info_free(&info);
  MPI_Aint extent = -1;
  TRY(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
  int atomic = -1;
  TRY(MPI_File_set_atomicity(file, 0));
  TRY(MPI_File_get_atomicity(file, &atomic));
  TRY(MPI_File_sync(file));
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  TRY(MPI_File_get_errhandler(file, &handler));
  printf("rank %d: size %lld, %d members, mode %d, extent %ld, atomic %d, handler %d\n", rank,
         (long long)size, members, mode, (long)extent, atomic, handler == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  TRY(MPI_File_call_errhandler(file, MPI_ERR_OTHER));
}

/* A view in which the ranks take turns. */
static void views(MPI_File file) {
  const int whole[] = {values_of_a_call, ranks};
  const int part[] = {values_of_a_call, 1};
  const int begin[] = {0, rank};
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, whole, part, begin, MPI_ORDER_C, MPI_INT, &column);
  MPI_Type_commit(&column);
  TRY(MPI_File_set_view(file, 0, MPI_INT, column, "native", MPI_INFO_NULL));
  MPI_Type_free(&column);
  MPI_Offset displacement = -1;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Datatype view = MPI_DATATYPE_NULL;
  char representation[MPI_MAX_DATAREP_STRING];
  TRY(MPI_File_get_view(file, &displacement, &element, &view, representation));
  MPI_Offset place = -1;
  TRY(MPI_File_get_byte_offset(file, 3, &place));
  printf("rank %d: displacement %lld, %s, third at %lld\n", rank, (long long)displacement,
         representation, (long long)place);
}

static void explicit_offsets(MPI_File file) {
  int values[values_of_a_call];
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  fill(values, 0);
  TRY(MPI_File_write_at_all(file, 0, values, values_of_a_call, MPI_INT, &status));
  TRY(MPI_File_write_at(file, values_of_a_call, values, values_of_a_call, MPI_INT, &status));
  TRY(MPI_File_iwrite_at(file, 2 * values_of_a_call, values, values_of_a_call, MPI_INT, &request));
  MPI_Wait(&request, &status);
  TRY(MPI_File_iwrite_at_all(file, 3 * values_of_a_call, values, values_of_a_call, MPI_INT,
                             &request));
  MPI_Wait(&request, &status);
  TRY(MPI_File_write_at_all_begin(file, 4 * values_of_a_call, values, values_of_a_call, MPI_INT));
  TRY(MPI_File_write_at_all_end(file, values, &status));
  TRY(MPI_File_read_at_all(file, 0, values, values_of_a_call, MPI_INT, &status));
  show("read_at_all", values, &status);
  TRY(MPI_File_read_at(file, values_of_a_call, values, values_of_a_call, MPI_INT,
                       MPI_STATUS_IGNORE));
  TRY(MPI_File_iread_at(file, 2 * values_of_a_call, values, values_of_a_call, MPI_INT, &request));
  MPI_Wait(&request, &status);
  show("iread_at", values, &status);
  TRY(MPI_File_iread_at_all(file, 3 * values_of_a_call, values, values_of_a_call, MPI_INT,
                            &request));
  MPI_Wait(&request, &status);
  show("iread_at_all", values, &status);
  TRY(MPI_File_read_at_all_begin(file, 4 * values_of_a_call, values, values_of_a_call, MPI_INT));
  TRY(MPI_File_read_at_all_end(file, values, &status));
  show("read_at_all_end", values, &status);
}

static void own_pointer(MPI_File file) {
  int values[values_of_a_call];
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  fill(values, 100);
  TRY(MPI_File_seek(file, 5 * values_of_a_call, MPI_SEEK_SET));
  TRY(MPI_File_write_all(file, values, values_of_a_call, MPI_INT, &status));
  TRY(MPI_File_write(file, values, values_of_a_call, MPI_INT, &status));
  TRY(MPI_File_iwrite(file, values, values_of_a_call, MPI_INT, &request));
  MPI_Wait(&request, &status);
  TRY(MPI_File_iwrite_all(file, values, values_of_a_call, MPI_INT, &request));
  MPI_Wait(&request, &status);
  TRY(MPI_File_write_all_begin(file, values, values_of_a_call, MPI_INT));
  TRY(MPI_File_write_all_end(file, values, &status));
  MPI_Offset at = -1;
  TRY(MPI_File_get_position(file, &at));
  printf("rank %d: at %lld\n", rank, (long long)at);
  MPI_File_seek(file, 5 * values_of_a_call, MPI_SEEK_SET);
  TRY(MPI_File_read_all(file, values, values_of_a_call, MPI_INT, &status));
  show("read_all", values, &status);
  TRY(MPI_File_read(file, values, values_of_a_call, MPI_INT, &status));
  TRY(MPI_File_iread(file, values, values_of_a_call, MPI_INT, &request));
  MPI_Wait(&request, &status);
  TRY(MPI_File_iread_all(file, values, values_of_a_call, MPI_INT, &request));
  MPI_Wait(&request, &status);
  TRY(MPI_File_read_all_begin(file, values, values_of_a_call, MPI_INT));
  TRY(MPI_File_read_all_end(file, values, &status));
  show("read_all_end", values, &status);
}

/* In order, so that the file is the same in each run; calls in any order write equal values. */
static void shared_pointer(MPI_File file) {
  int values[values_of_a_call];
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  fill(values, 200);
  TRY(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  TRY(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  TRY(MPI_File_write_ordered(file, values, values_of_a_call, MPI_INT, &status));
  TRY(MPI_File_write_ordered_begin(file, values, values_of_a_call, MPI_INT));
  TRY(MPI_File_write_ordered_end(file, values, &status));
  memset(values, 7, sizeof values);
  TRY(MPI_File_write_shared(file, values, values_of_a_call, MPI_INT, &status));
  TRY(MPI_File_iwrite_shared(file, values, values_of_a_call, MPI_INT, &request));
  MPI_Wait(&request, &status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Offset at = -1;
  TRY(MPI_File_get_position_shared(file, &at));
  printf("rank %d: shared at %lld\n", rank, (long long)at);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  TRY(MPI_File_read_ordered(file, values, values_of_a_call, MPI_INT, &status));
  show("read_ordered", values, &status);
  TRY(MPI_File_read_ordered_begin(file, values, values_of_a_call, MPI_INT));
  TRY(MPI_File_read_ordered_end(file, values, &status));
  TRY(MPI_File_read_shared(file, values, values_of_a_call, MPI_INT, &status));
  TRY(MPI_File_iread_shared(file, values, values_of_a_call, MPI_INT, &request));
  MPI_Wait(&request, &status);
  show("iread_shared", values, &status);
}

static void errors(void) {
  MPI_File file = MPI_FILE_NULL;
  int values[values_of_a_call] = {0};
  TRY(MPI_File_open(MPI_COMM_SELF, "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  TRY(MPI_File_delete("no such file", MPI_INFO_NULL));
  TRY(MPI_File_open(MPI_COMM_SELF, "all_calls.out", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  TRY(MPI_File_write(file, values, values_of_a_call, MPI_INT, MPI_STATUS_IGNORE));
  TRY(MPI_File_read(file, values, -1, MPI_INT, MPI_STATUS_IGNORE));
  TRY(MPI_File_read(file, values, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE));
  TRY(MPI_File_close(&file));
}

static void all(void) {
  MPI_File file = MPI_FILE_NULL;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  TRY(MPI_File_open(MPI_COMM_WORLD, "deleted.out", mode, MPI_INFO_NULL, &file));
  TRY(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) TRY(MPI_File_delete("deleted.out", MPI_INFO_NULL));
  TRY(MPI_File_open(MPI_COMM_WORLD, "./all_calls.out", mode, MPI_INFO_NULL, &file));
  TRY(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  queries(file);
  views(file);
  explicit_offsets(file);
  own_pointer(file);
  TRY(MPI_File_close(&file));
  TRY(MPI_File_open(MPI_COMM_WORLD, "shared.out", mode, MPI_INFO_NULL, &file));
  shared_pointer(file);
  TRY(MPI_File_close(&file));
  errors();
}

/* A child that ends as usual has the counts of its parent, and must not tell them. */
static void fork_a_child(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) exit(0);
  int status = -1;
  waitpid(child, &status, 0);
  printf("rank %d: child %d\n", rank, status);
}

enum { calls_of_a_thread = 20000, thread_count = 4 };
static void* get_positions(void* file) {
  MPI_Offset at = 0;
  for (int i = 0; i < calls_of_a_thread; ++i) MPI_File_get_position(*(MPI_File*)file, &at);
  return NULL;
}

/* Several threads at a time; also what a call costs. */
static void threads(void) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_SELF, "threads.out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &file);
  pthread_t others[thread_count];
  for (int i = 0; i < thread_count; ++i)
    pthread_create(&others[i], NULL, get_positions, (void*)&file);
  for (int i = 0; i < thread_count; ++i) pthread_join(others[i], NULL);
  MPI_File_close(&file);
}

/* One file more than have lines of their own. */
static void many_files(void) {
  char name[32];
  for (int i = 0; i <= 1024; ++i) {
    snprintf(name, sizeof name, "none%d", i);
    MPI_File_delete(name, MPI_INFO_NULL);
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Prints the time of a call that does next to nothing, and of one that reads a byte: the best of
 * 50 times 20000 calls. */
static void cost(void) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_SELF, "cost.out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  char byte = 'x';
  double best[2] = {1e9, 1e9};
  MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int time = 0; time < 50; ++time) {
    double start = seconds();
    get_positions((void*)&file);
    const double position = (seconds() - start) / (double)calls_of_a_thread;
    start = seconds();
    for (int i = 0; i < calls_of_a_thread; ++i) {
      MPI_File_read_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    const double read = (seconds() - start) / (double)calls_of_a_thread;
    if (position < best[0]) best[0] = position;
    if (read < best[1]) best[1] = read;
  }
  printf("get_position %.1f ns, read_at of a byte %.1f ns\n", best[0] * 1e9, best[1] * 1e9);
  MPI_File_close(&file);
}

int all_calls(const char* what);
int all_calls(const char* what) {
  int given = -1;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "cost") == 0) cost();
  if (strcmp(what, "many") == 0) many_files();
  if (strcmp(what, "all") == 0) {
    all();
    fork_a_child();
  }
  if (strcmp(what, "abort") == 0) {
    threads();
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  MPI_Finalize();
  return 3;
}

#ifndef WEIR_LATE
int main(int count, char** words) { return all_calls(count > 1 ? words[1] : "all"); }
#endif

/* Collective writes that go to a stager, and calls that meet them, for test_staged_calls.py.
 *
 *   mpiio_staged_calls calls FILE          prints what is wrong of each call
 *   mpiio_staged_calls lost FILE STAGER    writes; rank 0 kills process STAGER; writes on
 *   mpiio_staged_calls synced FILE STAGER  calls MPI_File_sync before that
 *   mpiio_staged_calls blocks FILE STAGER  and writes blocks first after it
 *   mpiio_staged_calls beside FILE STAGER  makes calls that need not wait for the stager, which
 * rank 0 stops for this time mpiio_staged_calls behind FILE STAGER  writes while the stager is
 * stopped, and reads what another rank wrote last mpiio_staged_calls again FILE STAGER   writes
 * bytes twice while the stager is stopped mpiio_staged_calls refused FILE        writes, and tells
 * the results of waiting for it mpiio_staged_calls left FILE [HOW]     closes the file, and opens
 * it again; HOW: dies (all ranks do), renamed (rank 0 calls rename, a child before it), or cut
 * (rank 0 calls truncate) mpiio_staged_calls many FILE           closes 65 files, and counts whole
 * ones of the first 64
 *
 * Each rank has a block of the file, and every so manieth row of what is behind the blocks. Lines
 * begin with the rank. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { block = 300000, row = 50000, rows = 4 };
static int rank, ranks;
static unsigned char* memory;

static void show(const char* call, int result) {
  int class = 0;
  MPI_Error_class(result, &class);
  printf("%d: %s: %d\n", rank, call, class);
  fflush(stdout);
}

static void must(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char content(int of, int version, int at) {
  return (unsigned char)(1 + (31 * of + 17 * version + at) % 250);
}

static void fill(int version, int bytes) {
  for (int i = 0; i < bytes; ++i) memory[i] = content(rank, version, i);
}

static int wrong(int of, int version, int bytes) {
  int count = 0;
  for (int i = 0; i < bytes; ++i) count += memory[i] != content(of, version, i);
  return count;
}

static MPI_File opened(const char* path, int mode) {
  MPI_File file = MPI_FILE_NULL;
  must(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "open");
  return file;
}

static MPI_File created(const char* path) {
  MPI_File file = opened(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
  must(MPI_File_set_size(file, 0) == MPI_SUCCESS, "set_size");
  return file;
}

static int write_blocks(MPI_File file, int version) {
  fill(version, block);
  return MPI_File_write_at_all(file, (MPI_Offset)block * rank, memory, block, MPI_BYTE,
                               MPI_STATUS_IGNORE);
}

static int write_rows(MPI_File file, int version) {
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, row, row * ranks, MPI_BYTE, &view);
  MPI_Type_commit(&view);
  MPI_File_set_view(file, (MPI_Offset)block * ranks + (MPI_Offset)row * rank, MPI_BYTE, view,
                    "native", MPI_INFO_NULL);
  MPI_Type_free(&view);
  fill(version, row * rows);
  const int result =
      MPI_File_write_at_all(file, 0, memory, row * rows, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  return result;
}

static void check(const char* call, int result, int wrong_bytes) {
  if (result == MPI_SUCCESS && wrong_bytes == 0) return;
  printf("%d: %s: result %d, %d are wrong\n", rank, call, result, wrong_bytes);
  fflush(stdout);
}

static int read_block(MPI_File file, int of, int version) {
  memset(memory, 0, block);
  const int result =
      MPI_File_read_at(file, (MPI_Offset)block * of, memory, block, MPI_BYTE, MPI_STATUS_IGNORE);
  return result == MPI_SUCCESS ? wrong(of, version, block) : -1;
}

static void check_size(MPI_File file, const char* call, MPI_Offset expected) {
  MPI_Offset size = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  const int result = MPI_File_get_size(file, &size);
  check(call, result, size != expected);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void make_calls(const char* path) {
  const int next = (rank + 1) % ranks;
  const MPI_Offset end = (MPI_Offset)block * ranks;
  MPI_Offset at = -1;
  MPI_File file = created(path);
  check("write_at_all", write_blocks(file, 1), 0);
  check_size(file, "get_size", end);
  MPI_File_seek(file, 0, MPI_SEEK_END); /* every rank has waited, if it is staged */
  MPI_File_get_position(file, &at);
  check("seek to the end", MPI_SUCCESS, at != end);
  check("read_at", MPI_SUCCESS, read_block(file, rank, 1));
  check("read_at of another rank", MPI_SUCCESS, read_block(file, next, 1));
  check("write_at_all again", write_blocks(file, 2), 0);
  check("write_at_all once more", write_blocks(file, 3), 0);
  memset(memory, 0, block);
  int result = MPI_File_read_at_all(file, (MPI_Offset)block * next, memory, block, MPI_BYTE,
                                    MPI_STATUS_IGNORE);
  check("read_at_all", result, wrong(next, 3, block));
  MPI_Barrier(MPI_COMM_WORLD);
  check("rows", write_rows(file, 4), 0);
  /* An independent write into staged bytes comes behind them, and one elsewhere beside them. */
  check("rows again", write_rows(file, 5), 0);
  fill(6, row);
  check("write_at",
        MPI_File_write_at(file, end + (MPI_Offset)row * rank, memory, row, MPI_BYTE,
                          MPI_STATUS_IGNORE),
        0);
  check("write_at behind",
        MPI_File_write_at(file, 2 * end + (MPI_Offset)row * rank, memory, row, MPI_BYTE,
                          MPI_STATUS_IGNORE),
        0);
  check("sync", MPI_File_sync(file), 0);
  memset(memory, 0, row);
  const int there = open(path, O_RDONLY | O_CLOEXEC);
  must(pread(there, memory, row, (off_t)(end + (MPI_Offset)row * rank)) == row, "pread");
  check("what others see", MPI_SUCCESS, wrong(rank, 6, row));
  check("rows a third time", write_rows(file, 7), 0);
  /* A longer size needs no wait, a shorter one cuts staged bytes off. */
  check("a longer size", MPI_File_set_size(file, 3 * end), 0);
  check_size(file, "get_size of that", 3 * end);
  check("blocks", write_blocks(file, 8), 0);
  check("a shorter size", MPI_File_set_size(file, block / 2), 0);
  check_size(file, "get_size of this", block / 2);
  struct stat facts;
  must(fstat(there, &facts) == 0, "fstat");
  check("the size", MPI_SUCCESS, facts.st_size != block / 2);
  MPI_Barrier(MPI_COMM_WORLD);
  check("blocks again", write_blocks(file, 9), 0);
  check("set_atomicity", MPI_File_set_atomicity(file, 1), 0);
  check("an atomic read_at", MPI_SUCCESS, read_block(file, next, 9));
  check("set_atomicity back", MPI_File_set_atomicity(file, 0), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  check("blocks a third time", write_blocks(file, 10), 0);
  check("preallocate", MPI_File_preallocate(file, end + 10), 0);
  check("close", MPI_File_close(&file), 0);
  must(fstat(there, &facts) == 0, "fstat");
  check("the last size", MPI_SUCCESS, facts.st_size != end + 10);
  must(pread(there, memory, block, (off_t)block * rank) == block, "pread");
  check("the last blocks", MPI_SUCCESS, wrong(rank, 10, block));
  close(there);
}

static void rest(long milliseconds) {
  const struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

/* The state of a process as the system tells it: 'T' if it is stopped. */
static char state_of(int process) {
  char path[64];
  char text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int there = open(path, O_RDONLY | O_CLOEXEC);
  if (there < 0) return 0;
  const ssize_t bytes = read(there, text, sizeof text - 1);
  close(there);
  if (bytes <= 0) return 0;
  text[bytes] = 0;
  const char* const name_end = strrchr(text, ')');
  return name_end == NULL ? 0 : name_end[2];
}

static void wait_until_ended(int process) {
  for (char state = 'R'; state != 0 && state != 'Z'; state = state_of(process)) rest(1);
  rest(100); /* the last of its threads */
}

static void stop(int stager) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) must(kill(stager, SIGSTOP) == 0, "kill");
  while (state_of(stager) != 'T') rest(1);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A child lets the stager go on after a while. */
static void resume_later(int stager) {
  if (rank != 0) return;
  const pid_t child = fork();
  if (child != 0) return;
  rest(500);
  _exit(kill(stager, SIGCONT) != 0);
}

/* One rank alone writes a row behind the blocks, in a collective call. */
static int write_row_of(MPI_File file, int who, int place, int version) {
  fill(version, row);
  const MPI_Offset at = (MPI_Offset)block * ranks + (MPI_Offset)row * place;
  return MPI_File_write_at_all(file, at, memory, rank == who ? row : 0, MPI_BYTE,
                               MPI_STATUS_IGNORE);
}

static int read_row(MPI_File file, int place, int of, int version) {
  memset(memory, 0, row);
  const MPI_Offset at = (MPI_Offset)block * ranks + (MPI_Offset)row * place;
  const int result = MPI_File_read_at(file, at, memory, row, MPI_BYTE, MPI_STATUS_IGNORE);
  return result == MPI_SUCCESS ? wrong(of, version, row) : -1;
}

/* Every rank has memory of the stager for one more call when its file pointer is at the end. What
 * rank 0 sends arrives before what rank 1 does, and so does the connection that the stager reads
 * first, with the question of rank 0 behind. */
static void read_behind(const char* path, int stager) {
  MPI_File file = created(path);
  show("first", write_blocks(file, 1));
  MPI_File_seek(file, 0, MPI_SEEK_END);
  stop(stager);
  show("row of rank 0", write_row_of(file, 0, 1, 2));
  show("row of rank 1", write_row_of(file, 1, 0, 3));
  MPI_Barrier(MPI_COMM_WORLD);
  if (state_of(stager) != 'T') show("the stager was not stopped", MPI_ERR_OTHER);
  resume_later(stager);
  if (rank == 0) check("read_at", MPI_SUCCESS, read_row(file, 0, 1, 3));
  show("close", MPI_File_close(&file));
}

static void write_again(const char* path, int stager) {
  MPI_File file = created(path);
  show("first", write_blocks(file, 1));
  MPI_File_seek(file, 0, MPI_SEEK_END);
  stop(stager);
  show("row", write_row_of(file, 0, 0, 2));
  resume_later(stager);
  show("row again", write_row_of(file, 1, 0, 3));
  if (state_of(stager) == 'T') show("it has not waited", MPI_ERR_OTHER);
  show("and again", write_row_of(file, 0, 0, 4));
  show("and once more", write_row_of(file, 1, 0, 5));
  MPI_Barrier(MPI_COMM_WORLD);
  check("read_at", MPI_SUCCESS, read_row(file, 0, 1, 5));
  show("close", MPI_File_close(&file));
}

static void lose_stager(const char* path, const char* how, int stager) {
  const int is_synced = strcmp(how, "lost") != 0;
  MPI_File file = created(path);
  show("first", write_blocks(file, 1));
  if (is_synced) show("sync", MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) must(kill(stager, SIGKILL) == 0, "kill");
  wait_until_ended(stager);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "blocks") == 0) show("block", write_blocks(file, 2));
  show("second", write_rows(file, 2));
  show("sync after it", MPI_File_sync(file));
  show("close", MPI_File_close(&file));
}

/* The calls are of bytes behind the staged rows. */
static void make_calls_beside(const char* path, int stager) {
  const MPI_Offset behind = (MPI_Offset)(block + rows * row) * ranks + (MPI_Offset)row * rank;
  MPI_File file = created(path);
  show("rows", write_rows(file, 1));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) must(kill(stager, SIGSTOP) == 0, "kill");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int call = 0; call < 2; ++call) {
    fill(2 + call, row);
    show("write_at", MPI_File_write_at(file, behind, memory, row, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  memset(memory, 0, row);
  int result = MPI_File_read_at(file, behind, memory, row, MPI_BYTE, MPI_STATUS_IGNORE);
  check("read_at", result, wrong(rank, 3, row));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) must(kill(stager, SIGCONT) == 0, "kill");
  show("close", MPI_File_close(&file));
}

static void tell_refusals(const char* path) {
  MPI_File file = created(path);
  show("write", write_blocks(file, 1));
  show("sync", MPI_File_sync(file));
  show("close", MPI_File_close(&file));
}

/* Rank 0 changes the path of a file that is not whole yet. */
static void change_path(const char* path, const char* how, long long whole) {
  struct stat facts;
  if (strcmp(how, "cut") == 0) {
    must(truncate(path, 0) == 0, "truncate");
    return;
  }
  char other[4096];
  snprintf(other, sizeof other, "%s.new", path);
  /* A child of the process does not wait, and disturbs nothing. */
  const pid_t child = fork();
  if (child == 0) _exit(rename(other, path) == 0);
  int status = 1;
  must(waitpid(child, &status, 0) == child && status == 0, "a child renames what is not there");
  must(rename(path, other) == 0 && stat(other, &facts) == 0, "rename");
  printf("%d: %s when it is renamed\n", rank, facts.st_size < whole ? "not whole" : "whole");
  fflush(stdout);
}

static void leave(const char* path, const char* how) {
  MPI_File file = created(path);
  must(write_blocks(file, 1) == MPI_SUCCESS, "write");
  must(write_rows(file, 2) == MPI_SUCCESS, "write");
  must(MPI_File_close(&file) == MPI_SUCCESS, "close");
  MPI_Barrier(MPI_COMM_WORLD);
  struct stat facts;
  must(stat(path, &facts) == 0, "stat");
  const long long whole = ((long long)block + row * rows) * ranks;
  printf("%d: %s when it is closed\n", rank, facts.st_size < whole ? "not whole" : "whole");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "dies") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "renamed") == 0 || strcmp(how, "cut") == 0) {
    if (rank == 0) change_path(path, how, whole);
    return;
  }
  file = opened(path, MPI_MODE_RDWR);
  check_size(file, "get_size", whole);
  check("read_at", MPI_SUCCESS, read_block(file, (rank + 1) % ranks, 1));
  MPI_Barrier(MPI_COMM_WORLD);
  must(write_blocks(file, 3) == MPI_SUCCESS, "write again");
  must(MPI_File_close(&file) == MPI_SUCCESS, "close again");
}

static void close_many(const char* path) {
  enum { most = 64 };
  char name[4096];
  for (int i = 0; i <= most; ++i) {
    snprintf(name, sizeof name, "%s.%d", path, i);
    MPI_File file = created(name);
    must(write_blocks(file, i) == MPI_SUCCESS, "write");
    must(MPI_File_close(&file) == MPI_SUCCESS, "close");
  }
  int whole = 0;
  for (int i = 0; i < most; ++i) {
    struct stat facts;
    snprintf(name, sizeof name, "%s.%d", path, i);
    must(stat(name, &facts) == 0, "stat");
    whole += facts.st_size == (long long)block * ranks;
  }
  printf("%d: %d are whole\n", rank, whole);
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memory = malloc(block);
  must(argc > 2 && memory != NULL, "arguments or memory");
  if (strcmp(argv[1], "calls") == 0) make_calls(argv[2]);
  if (strcmp(argv[1], "refused") == 0) tell_refusals(argv[2]);
  if (strcmp(argv[1], "many") == 0) close_many(argv[2]);
  if (strcmp(argv[1], "left") == 0) leave(argv[2], argc > 3 ? argv[3] : "");
  if (argc > 3 && strcmp(argv[1], "left") != 0) {
    const int stager = (int)strtol(argv[3], NULL, 10);
    if (strcmp(argv[1], "beside") == 0) {
      make_calls_beside(argv[2], stager);
    } else if (strcmp(argv[1], "behind") == 0) {
      read_behind(argv[2], stager);
    } else if (strcmp(argv[1], "again") == 0) {
      write_again(argv[2], stager);
    } else {
      lose_stager(argv[2], argv[1], stager);
    }
  }
  free(memory);
  MPI_Finalize();
  return 0;
}

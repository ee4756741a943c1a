/* Collective calls of which some are like the one before, and others differ from it on one rank or
 * on all. Rank 0 prints a line for each call: its name, how often it has called MPI_Allgather, by
 * which Weir's ranks tell each other of their parts where they have no board, and how many bytes of
 * the file, or of what a rank has read, are wrong.
 *
 *   mpiio_equal_calls FILE OTHER_FILE
 *   mpiio_equal_calls FILE late        rank 0 comes 3 seconds late to the fourth of six equal calls
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { row = 64, rows = 32, part = row * rows, most_ranks = 8, file_bytes = 4 * most_ranks * part };

static int rank, ranks, gathers;

/* What a program defines is called instead of the MPI library's function. */
int MPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  ++gathers;
  return PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

static void must(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct Opened {
  MPI_File file;
  const char* path;
  unsigned char expected[file_bytes];
  int moved[most_ranks]; /* rows by which each rank's view begins later */
};

static int number; /* of the write */

static unsigned char content(int of_rank, int at) {
  return (unsigned char)(1 + (7 * number + 31 * of_rank + at) % 250);
}

static int place(const struct Opened* opened, int of_rank, int at) {
  return (at / row + opened->moved[of_rank]) * row * ranks + of_rank * row + at % row;
}

static void open_file(struct Opened* opened, const char* path) {
  opened->path = path;
  must(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                     &opened->file) == MPI_SUCCESS,
       "a file cannot be opened");
}

/* Rank `which` sees rows that begin `moved` later; -1: each rank does. */
static void set_view(struct Opened* opened, int which, int moved) {
  for (int r = 0; r < ranks; ++r) {
    if (which < 0 || which == r) opened->moved[r] = moved;
  }
  MPI_Datatype shown = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, row, row * ranks, MPI_BYTE, &shown);
  MPI_Type_commit(&shown);
  const MPI_Offset begin = place(opened, rank, 0);
  must(MPI_File_set_view(opened->file, begin, MPI_BYTE, shown, "native", MPI_INFO_NULL) ==
           MPI_SUCCESS,
       "a view cannot be set");
  MPI_Type_free(&shown);
}

static int wrong_in_file(const struct Opened* opened) {
  static unsigned char found[file_bytes];
  memset(found, 0, sizeof found);
  FILE* const file = fopen(opened->path, "rb");
  must(file != NULL, "the file cannot be read");
  (void)!fread(found, 1, sizeof found, file);
  fclose(file);
  int wrong = 0;
  for (int i = 0; i < file_bytes; ++i) wrong += found[i] != opened->expected[i];
  return wrong;
}

static void tell(const char* name, int gathered, int wrong) {
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d, %d are wrong\n", name, gathered, all);
  MPI_Barrier(MPI_COMM_WORLD);
}

enum Way { usual, split, with_holes };

/* Rank `which` writes `bytes`, and the others their whole parts. */
static void write_parts(const char* name, struct Opened* opened, int which, int bytes,
                        enum Way way) {
  static unsigned char memory[2 * part];
  ++number;
  for (int r = 0; r < ranks; ++r) {
    for (int i = 0; i < (r == which ? bytes : part); ++i) {
      opened->expected[place(opened, r, i)] = content(r, i);
    }
  }
  const int count = rank == which ? bytes : part;
  const int step = way == with_holes && rank == 1 ? 2 : 1;
  for (int i = 0; i < count; ++i) memory[i * step] = content(rank, i);
  MPI_Datatype type = MPI_BYTE;
  if (step > 1) {
    MPI_Type_create_resized(MPI_BYTE, 0, step, &type);
    MPI_Type_commit(&type);
  }
  MPI_Status status;
  gathers = 0;
  int result = MPI_SUCCESS;
  if (way == split) {
    result = MPI_File_write_at_all_begin(opened->file, 0, memory, count, type);
    if (result == MPI_SUCCESS) result = MPI_File_write_at_all_end(opened->file, memory, &status);
  } else {
    result = MPI_File_write_at_all(opened->file, 0, memory, count, type, &status);
  }
  must(result == MPI_SUCCESS, "a write failed");
  int moved = -1;
  MPI_Get_count(&status, MPI_BYTE, &moved);
  must(moved == count, "a write has another size");
  if (step > 1) MPI_Type_free(&type);
  const int gathered = gathers;
  MPI_Barrier(MPI_COMM_WORLD);
  tell(name, gathered, rank == 0 ? wrong_in_file(opened) : 0);
}

static void read_parts(const char* name, struct Opened* opened, int expected) {
  static unsigned char memory[part];
  memset(memory, 0, sizeof memory);
  MPI_Status status;
  gathers = 0;
  must(MPI_File_read_at_all(opened->file, 0, memory, part, MPI_BYTE, &status) == MPI_SUCCESS,
       "a read failed");
  int moved = -1;
  MPI_Get_count(&status, MPI_BYTE, &moved);
  must(expected < 0 || moved == expected, "a read has another size");
  int wrong = 0;
  for (int i = 0; i < moved; ++i) wrong += memory[i] != opened->expected[place(opened, rank, i)];
  tell(name, gathers, wrong);
}

static void write_whole(const char* name, struct Opened* opened) {
  write_parts(name, opened, -1, 0, usual);
}

/* After the first call of a kind, the second one is like the last, and further ones are expected to
 * be. */
static void change_parts(struct Opened* one) {
  write_whole("first", one);
  write_whole("second", one);
  write_whole("third", one);
  write_whole("fourth", one);
  read_parts("read", one, part);
  write_parts("one rank moves less", one, 1, part / 2, usual);
  write_parts("it does so again", one, 1, part / 2, usual);
  write_parts("and again", one, 1, part / 2, usual);
  write_parts("one rank moves nothing", one, ranks - 1, 0, usual);
  write_whole("whole parts", one);
  write_whole("whole parts again", one);
  write_parts("memory with holes", one, -1, 0, with_holes);
  write_parts("a split call", one, -1, 0, split);
}

static void change_files(struct Opened* one, struct Opened* other) {
  open_file(other, other->path);
  set_view(other, -1, 0);
  write_whole("another file", other);
  write_whole("one in turn", one);
  write_whole("another file again", other);
  write_whole("one in turn again", one);
  write_whole("another file a third time", other);
  MPI_File_close(&other->file);
  open_file(other, other->path);
  set_view(other, -1, 0);
  write_whole("opened again", other);
  write_whole("opened again, second", other);
  write_whole("opened again, third", other);
  MPI_File_close(&other->file);
}

static void change_views(struct Opened* one) {
  set_view(one, -1, 0);
  write_whole("the same view", one);
  set_view(one, -1, rows);
  write_whole("other views", one);
  set_view(one, -1, 0);
  write_whole("the first views", one);
  write_whole("the first views again", one);
  set_view(one, 0, rows);
  write_whole("another view of one rank", one);
  set_view(one, 0, 0);
  write_whole("its first view", one);
  write_whole("its first view again", one);
}

static void change_modes(struct Opened* one) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_File_set_info(one->file, info);
  MPI_Info_free(&info);
  write_whole("other hints", one);
  MPI_File_set_atomicity(one->file, 1);
  write_whole("atomic", one);
  MPI_File_set_atomicity(one->file, 0);
  write_whole("not atomic", one);
  write_whole("not atomic again", one);
  /* The last rank's part does not end in the file any more. */
  const int end = rows * row * ranks;
  must(MPI_File_set_size(one->file, end - 1) == MPI_SUCCESS, "the size cannot be set");
  memset(one->expected + end - 1, 0, sizeof one->expected - (size_t)end + 1);
  read_parts("past the end", one, rank == ranks - 1 ? part - 1 : part);
  write_whole("the end again", one);
  read_parts("all of it", one, part);
}

static void come_late(struct Opened* one) {
  write_whole("first", one);
  write_whole("second", one);
  write_whole("third", one);
  const struct timespec seconds = {3, 0};
  if (rank == 0) nanosleep(&seconds, NULL);
  write_whole("late", one);
  write_whole("after it", one);
  write_whole("last", one);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  must(argc == 3 && ranks >= 2 && ranks <= most_ranks, "give two files, and 2 to 8 ranks");
  static struct Opened one;
  static struct Opened other;
  other.path = argv[2];
  open_file(&one, argv[1]);
  set_view(&one, -1, 0);
  if (strcmp(argv[2], "late") == 0) {
    come_late(&one);
  } else {
    change_parts(&one);
    change_files(&one, &other);
    change_views(&one);
    change_modes(&one);
  }
  MPI_File_close(&one.file);
  MPI_Finalize();
  return 0;
}

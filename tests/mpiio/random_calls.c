/* Makes collective calls of MPI-IO with random views and memory, and prints what each returned, for
 * test_take_over.py: with and without calls that are taken over, output and files have to be equal.
 *
 *   random_calls SEED ROUNDS
 *
 * All ranks draw the same numbers. Views show the ranks different bytes, except for views of the
 * whole file, in which they use different offsets. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { integer = 4, most_elements = 4096 };
static int rank;
static int ranks;
static uint64_t state;
static int call_number;

static int between(int low, int high) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return low + (int)((state >> 33U) % (uint64_t)(high - low + 1));
}

struct View {
  MPI_Offset displacement;
  MPI_Datatype type;
  int is_shared; /* all ranks see the same bytes */
};

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint extent) {
  MPI_Datatype result = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(type, 0, extent, &result);
  MPI_Type_free(&type);
  return result;
}

static MPI_Datatype subarray(int order) {
  const int sizes[] = {between(1, 4), between(1, 5) * ranks, between(1, 6)};
  const int mine[] = {sizes[0], sizes[1] / ranks, sizes[2]};
  const int starts[] = {0, rank * mine[1], 0};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes, mine, starts, order, MPI_INT, &type);
  return type;
}

/* A block in the middle of an array, whose rows the ranks share. */
static MPI_Datatype inner_subarray(void) {
  const int width = between(1, 4);
  const int sizes[] = {between(3, 6), between(3, 5), width * ranks + 2};
  const int mine[] = {sizes[0] - 2, sizes[1] - 2, width};
  const int starts[] = {1, 1, 1 + rank * width};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes, mine, starts, MPI_ORDER_C, MPI_INT, &type);
  return type;
}

static MPI_Datatype darray(void) {
  const int block = between(1, 3);
  const int is_cyclic = between(0, 1);
  const int sizes[] = {between(1, 4), ranks * block * between(1, 4) + between(0, 1)};
  const int distributions[] = {MPI_DISTRIBUTE_NONE,
                               is_cyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, is_cyclic ? block : MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[] = {1, ranks};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(ranks, rank, 2, sizes, distributions, arguments, grid, MPI_ORDER_C,
                         MPI_INT, &type);
  return type;
}

/* Blocks at equal or at random distances. */
static MPI_Datatype indexed(void) {
  enum { most_blocks = 3 };
  int lengths[most_blocks];
  int places[most_blocks];
  const int blocks = between(1, most_blocks);
  const int each = between(1, 3);
  const int is_regular = between(0, 1);
  int end = 0;
  for (int i = 0; i < blocks; ++i) {
    lengths[i] = each;
    places[i] = end + rank * each;
    end += ranks * each + (is_regular ? ranks * each : between(0, 3));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_indexed(blocks, lengths, places, MPI_INT, &type);
  return resized(type, (MPI_Aint)end * integer);
}

static MPI_Datatype structure(void) {
  const int each = between(1, 3);
  const int lengths[] = {each, each};
  const MPI_Aint row = (MPI_Aint)ranks * each * integer * between(1, 2);
  const MPI_Aint first = (MPI_Aint)rank * each * integer;
  const MPI_Aint places[] = {first, row + first};
  const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &type);
  return resized(type, 2 * row);
}

/* Columns of `width` integers, in planes that are at a distance of their own. */
static MPI_Datatype columns(int width) {
  const int rows = between(1, 4);
  const MPI_Aint plane = (MPI_Aint)rows * ranks * width * integer;
  const MPI_Aint distance = plane + (between(0, 2) == 0 ? integer * between(1, 3) : plane);
  const int planes = between(1, 3);
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Datatype all = MPI_DATATYPE_NULL;
  MPI_Type_vector(rows, width, ranks * width, MPI_INT, &row);
  MPI_Type_create_hvector(planes, 1, distance, row, &all);
  MPI_Type_free(&row);
  return resized(all, planes * distance);
}

static struct View random_view(void) {
  struct View view = {(MPI_Offset)integer * between(0, 50), MPI_DATATYPE_NULL, 0};
  const int width = between(1, 4);
  switch (between(0, 8)) {
    case 0:
      view.type = subarray(MPI_ORDER_C);
      break;
    case 1:
      view.type = subarray(MPI_ORDER_FORTRAN);
      break;
    case 2:
      view.type = inner_subarray();
      break;
    case 3:
      view.type = darray();
      break;
    case 4:
      view.type = indexed();
      break;
    case 5:
      view.type = structure();
      break;
    case 6:
      MPI_Type_contiguous(width, MPI_INT, &view.type);
      view.is_shared = 1;
      break;
    default:
      view.type = columns(width);
      view.displacement += (MPI_Offset)rank * width * integer;
      break;
  }
  MPI_Type_commit(&view.type);
  return view;
}

/* Memory of `elements` integers: `count` elements of a datatype. */
struct Memory {
  MPI_Datatype type;
  int count;
};

static struct Memory random_memory(int elements) {
  struct Memory memory = {MPI_DATATYPE_NULL, elements};
  const int kind = between(0, 3);
  if (kind == 0) {
    MPI_Type_vector(elements, 1, 2, MPI_INT, &memory.type);
    memory.count = 1;
  } else if (kind == 1) {
    MPI_Type_dup(MPI_INT, &memory.type);
    memory.type = resized(memory.type, 3 * (MPI_Aint)integer);
  } else {
    MPI_Type_contiguous(1, MPI_INT, &memory.type);
  }
  MPI_Type_commit(&memory.type);
  return memory;
}

static uint64_t hash_of(const int* values, int count) {
  uint64_t hash = 1;
  for (int i = 0; i < count; ++i) hash = hash * 1099511628211U + (uint32_t)values[i];
  return hash;
}

static void show(const char* call, int result, MPI_Status* status, const int* read, MPI_File file) {
  int class = 0;
  int count = -1;
  int cancelled = -1;
  MPI_Offset position = -1;
  MPI_Error_class(result, &class);
  if (result == MPI_SUCCESS) {
    MPI_Get_count(status, MPI_INT, &count);
    MPI_Test_cancelled(status, &cancelled);
  }
  MPI_File_get_position(file, &position);
  printf("%d %d %s: class %d, count %d, cancelled %d, position %lld, read %llu\n", call_number,
         rank, call, class, count, cancelled, (long long)position,
         read == NULL ? 0ULL : (unsigned long long)hash_of(read, 3 * most_elements));
}

static void collective_call(MPI_File file, const struct View* view, int* values) {
  const int largest = between(0, 3) == 0 ? 600 : 60;
  /* Each rank has a number of its own, some have none. */
  int elements = 0;
  for (int i = 0; i < ranks; ++i) {
    const int drawn = between(0, 4) == 0 ? 0 : between(1, largest);
    if (i == rank) elements = drawn;
  }
  const struct Memory memory = random_memory(elements);
  const MPI_Offset offset = between(0, 60) + (view->is_shared ? (MPI_Offset)rank * 700 : 0);
  const int kind = between(0, 4);
  MPI_Status status;
  memset(&status, 0, sizeof status);
  for (int i = 0; i < 3 * most_elements; ++i) {
    values[i] = kind < 3 ? call_number * 100000 + rank * 10000 + i : 0;
  }
  if (kind == 0 || kind == 4) MPI_File_seek(file, offset, MPI_SEEK_SET);
  int result = MPI_SUCCESS;
  switch (kind) {
    case 0:
      result = MPI_File_write_all(file, values, memory.count, memory.type, &status);
      show("write_all", result, &status, NULL, file);
      break;
    case 1:
    case 2:
      result = MPI_File_write_at_all(file, offset, values, memory.count, memory.type, &status);
      show("write_at_all", result, &status, NULL, file);
      break;
    case 3:
      result = MPI_File_read_at_all(file, offset, values, memory.count, memory.type, &status);
      show("read_at_all", result, &status, values, file);
      break;
    default:
      result = MPI_File_read_all(file, values, memory.count, memory.type, &status);
      show("read_all", result, &status, values, file);
      break;
  }
  MPI_Datatype type = memory.type;
  MPI_Type_free(&type);
}

/* One rank writes and reads by itself what the view shows it, and another rank's bytes are read
 * after a synchronization. */
static void independent_calls(MPI_File file, const struct View* view, int* values) {
  MPI_Status status;
  const MPI_Offset offset = between(0, 30) + (view->is_shared ? 40 * (MPI_Offset)rank : 0);
  for (int i = 0; i < 3 * most_elements; ++i) values[i] = -call_number * 1000 - rank * 100 - i;
  int result = MPI_SUCCESS;
  /* One rank after the other, since OMPIO loses bytes beside those that several write at once. */
  for (int turn = 0; turn < ranks; ++turn) {
    if (turn == rank) result = MPI_File_write_at(file, offset, values, 7, MPI_INT, &status);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  show("write_at", result, &status, NULL, file);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_seek(file, offset, MPI_SEEK_SET);
  memset(values, 0, sizeof(int) * 3 * most_elements);
  result = MPI_File_read(file, values, 7, MPI_INT, &status);
  show("read", result, &status, values, file);
}

static void invalid_calls(MPI_File file, int* values) {
  MPI_Status status;
  memset(&status, 0, sizeof status);
  show("count below 0", MPI_File_write_all(file, values, -1, MPI_INT, &status), &status, NULL,
       file);
  MPI_File only_read = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, "random.out", MPI_MODE_RDONLY, MPI_INFO_NULL, &only_read);
  show("read-only", MPI_File_write_at_all(only_read, 0, values, 1, MPI_INT, &status), &status, NULL,
       only_read);
  MPI_File_close(&only_read);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  state = argc > 1 ? (uint64_t)strtoul(argv[1], NULL, 10) : 1;
  const long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
  int* const values = calloc(3 * most_elements, sizeof(int));
  if (values == NULL) return 1;
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, "random.out", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                &file);
  for (long round = 0; round < rounds; ++round) {
    struct View view = random_view();
    MPI_File_set_view(file, view.displacement, MPI_INT, view.type, "native", MPI_INFO_NULL);
    MPI_Type_free(&view.type);
    const int is_atomic = between(0, 19) == 0;
    MPI_File_set_atomicity(file, is_atomic);
    for (int calls = between(1, 4); calls > 0; --calls, ++call_number) {
      collective_call(file, &view, values);
      MPI_Barrier(MPI_COMM_WORLD); /* the next one finds the file as long as it is */
    }
    if (between(0, 3) == 0) independent_calls(file, &view, values);
    /* What others wrote is read in the next round. */
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  invalid_calls(file, values);
  MPI_Offset size = -1;
  MPI_File_get_size(file, &size);
  printf("%d size %lld\n", rank, (long long)size);
  MPI_File_close(&file);
  free(values);
  MPI_Finalize();
  return 0;
}

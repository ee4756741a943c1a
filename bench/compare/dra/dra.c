/* Compares Disk Resident Arrays (of Global Arrays) and Weir in one job, in turn, with the same
 * memory.
 *
 * usage: dra DIRECTORY EXTENT PAIRS SYNC HINT CHUNK STRATEGY
 *
 * A square array of EXTENT x EXTENT float64 lies in a global array, in which each rank holds one
 * block, and on disk as a disk resident array and as a raw array of Weir. Both libraries write and
 * read the whole array and two sections, in alternating order, after a pair that is not counted.
 * Each section is half of each dimension, in the middle; one begins and ends at multiples of 256,
 * the other does not. The program prints one line per pair:
 *
 *     write|read whole|aligned|unaligned DRA-SECONDS WEIR-SECONDS
 *
 * Seconds are the slowest rank's, from a barrier until the last rank has returned from the wait.
 * The data is then in the page cache, on both sides; with SYNC 1, the files are also synced within
 * the time, by fsync (of all of them, by rank 0) and weir_array_sync. The files exist and have
 * their full size before the first counted pair. After each read all elements are compared with
 * what was written, outside the time; a wrong element ends the job. HINT is the extent, along both
 * dimensions, of the requests for which DRA is prepared when the array is created; with 0 the
 * extent is unspecified. DRA's array lies in as many files as DRA creates by default, one for each
 * rank on one node. Weir's array lies in chunks of CHUNK x CHUNK in a file for each aggregator or,
 * with 0, in one file, row by row; STRATEGY is the strategy of Weir's session.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weir/weir.h>
/* This header uses types of ga.h. */
#include <dra.h>

enum { stack_elements = 1 << 16, edge = 256 };
static const char dra_name[] = "disk_resident";

typedef struct Bench {
  const char* directory;
  int64_t extent;
  int64_t hint;
  int64_t chunk;
  int sync;
  int rank;
  int global_array;
  int disk_array;
  weir_session* session;
  weir_array* array;
  weir_distribution* blocks;
  int lower[2]; /* this rank's block: lower[d] <= index <= upper[d] */
  int upper[2];
} Bench;

/* A part of the array, with the bounds in the form of each library. */
typedef struct Part {
  const char* name;
  int64_t start[2];
  int64_t count[2];
} Part;

static void fail(const char* what) {
  fprintf(stderr, "dra: %s: %s\n", what, weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(int code, const char* what) {
  if (code != 0) fail(what);
}

/* Returns a value that differs between elements and between rounds. */
static double value(const Bench* b, int64_t i, int64_t j, int round) {
  return (double)((i * b->extent + j) * 16 + round % 16);
}

static double* block(const Bench* b) {
  double* elements = NULL;
  int lower[2] = {b->lower[0], b->lower[1]};
  int upper[2] = {b->upper[0], b->upper[1]};
  int leading[1];
  if (upper[0] < lower[0] || upper[1] < lower[1]) return NULL;
  NGA_Access(b->global_array, lower, upper, (void*)&elements, leading);
  if (leading[0] != upper[1] - lower[1] + 1) fail("the block of a global array is not dense");
  return elements;
}

static int is_inside(const Part* p, int64_t i, int64_t j) {
  return i >= p->start[0] && i < p->start[0] + p->count[0] && j >= p->start[1] &&
         j < p->start[1] + p->count[1];
}

/* Fills the block with the values of `round`, or with -1 if `round` is negative. */
static void fill(const Bench* b, int round) {
  double* element = block(b);
  for (int64_t i = b->lower[0]; element != NULL && i <= b->upper[0]; ++i) {
    for (int64_t j = b->lower[1]; j <= b->upper[1]; ++j) {
      *element++ = round < 0 ? -1 : value(b, i, j, round);
    }
  }
  GA_Sync();
}

/* Fails unless the block has the values of `round` in the part and -1 elsewhere. */
static void verify(const Bench* b, const Part* p, int round) {
  const double* element = block(b);
  for (int64_t i = b->lower[0]; element != NULL && i <= b->upper[0]; ++i) {
    for (int64_t j = b->lower[1]; j <= b->upper[1]; ++j) {
      const double expected = is_inside(p, i, j) ? value(b, i, j, round) : -1;
      if (*element++ != expected) fail("an element is not what was written");
    }
  }
}

/* Syncs all files of the disk resident array. */
static void sync_dra_files(const Bench* b) {
  DIR* const folder = opendir(b->directory);
  if (folder == NULL) fail("the directory cannot be listed");
  const struct dirent* entry = NULL;
  /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
  while ((entry = readdir(folder)) != NULL) {
    if (strncmp(entry->d_name, dra_name, strlen(dra_name)) != 0) continue;
    const int file = openat(dirfd(folder), entry->d_name, O_RDWR);
    if (file < 0 || fsync(file) != 0 || close(file) != 0) fail("fsync of a file of DRA");
  }
  closedir(folder);
}

static void move_by_dra(const Bench* b, const Part* p, int is_write) {
  int request = 0;
  int lower[2] = {(int)p->start[0], (int)p->start[1]};
  int upper[2] = {(int)(p->start[0] + p->count[0] - 1), (int)(p->start[1] + p->count[1] - 1)};
  dra_size_t disk_lower[2] = {lower[0], lower[1]};
  dra_size_t disk_upper[2] = {upper[0], upper[1]};
  int code = 0;
  if (p->count[0] == b->extent && p->count[1] == b->extent) {
    code = is_write ? NDRA_Write(b->global_array, b->disk_array, &request)
                    : NDRA_Read(b->global_array, b->disk_array, &request);
  } else {
    code = is_write ? NDRA_Write_section(0, b->global_array, lower, upper, b->disk_array,
                                         disk_lower, disk_upper, &request)
                    : NDRA_Read_section(0, b->global_array, lower, upper, b->disk_array, disk_lower,
                                        disk_upper, &request);
  }
  check(code, "DRA's transfer");
  check(DRA_Wait(request), "DRA_Wait");
  if (is_write && b->sync) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (b->rank == 0) sync_dra_files(b);
  }
}

static void move_by_weir(const Bench* b, const Part* p, int is_write) {
  const weir_section section = {p->start, p->count, NULL};
  weir_transfer transfer = {0};
  transfer.array = b->array;
  transfer.distribution = b->blocks;
  transfer.section = &section;
  transfer.data = block(b);
  check(is_write ? weir_write_many(b->session, 1, &transfer)
                 : weir_read_many(b->session, 1, &transfer),
        "Weir's transfer");
  if (is_write && b->sync) check(weir_array_sync(b->array), "weir_array_sync");
}

/* Returns the seconds of the slowest rank. */
static double timed(void (*move)(const Bench*, const Part*, int), const Bench* b, const Part* p,
                    int is_write) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  move(b, p, is_write);
  double seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/* Does one pair of writes and one of reads, and prints nothing of the first pair. */
static void pair(const Bench* b, const Part* p, int number) {
  void (*const moves[])(const Bench*, const Part*, int) = {move_by_dra, move_by_weir};
  double written[2];
  double read[2];
  fill(b, number);
  for (int turn = 0; turn < 2; ++turn) {
    const int which = (turn + number) % 2;
    written[which] = timed(moves[which], b, p, 1);
  }
  for (int turn = 0; turn < 2; ++turn) {
    const int which = (turn + number) % 2;
    fill(b, -1);
    read[which] = timed(moves[which], b, p, 0);
    verify(b, p, number);
  }
  if (b->rank != 0 || number == 0) return;
  printf("write %s %.6f %.6f\n", p->name, written[0], written[1]);
  printf("read %s %.6f %.6f\n", p->name, read[0], read[1]);
}

static void create(Bench* b) {
  char path[4096];
  const int64_t shape[2] = {b->extent, b->extent};
  int extents[2] = {(int)b->extent, (int)b->extent};
  dra_size_t disk_extents[2] = {b->extent, b->extent};
  const dra_size_t hint = b->hint > 0 ? b->hint : -1; /* -1: unspecified */
  dra_size_t typical[2] = {hint, hint};
  char name[] = "compared";
  b->global_array = NGA_Create(C_DBL, 2, extents, name, NULL);
  if (b->global_array == 0) fail("no global array");
  NGA_Distribution(b->global_array, b->rank, b->lower, b->upper);
  snprintf(path, sizeof path, "%s/%s", b->directory, dra_name);
  check(NDRA_Create(C_DBL, 2, disk_extents, name, path, DRA_RW, typical, &b->disk_array),
        "NDRA_Create");
  const int64_t lower[2] = {b->lower[0], b->lower[1]};
  const int64_t held[2] = {b->upper[0] - b->lower[0] + 1, b->upper[1] - b->lower[1] + 1};
  const int64_t boxes = held[0] > 0 && held[1] > 0 ? 1 : 0;
  check(weir_distribution_from_boxes(b->session, 2, shape, boxes, lower, held, &b->blocks),
        "weir_distribution_from_boxes");
  snprintf(path, sizeof path, "%s/weir", b->directory);
  const int64_t chunks[2] = {b->chunk, b->chunk};
  weir_array_options options = {0};
  options.chunks = b->chunk > 0 ? chunks : NULL;
  options.files = b->chunk > 0 ? WEIR_FILE_PER_AGGREGATOR : WEIR_SHARED_FILE;
  check(weir_array_create(b->session, path, 2, shape, "float64", &options, &b->array),
        "weir_array_create");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 8) fail("usage: dra DIRECTORY EXTENT PAIRS SYNC HINT CHUNK STRATEGY");
  Bench b = {0};
  b.directory = argv[1];
  b.extent = strtoll(argv[2], NULL, 10);
  const int pairs = (int)strtol(argv[3], NULL, 10);
  b.sync = (int)strtol(argv[4], NULL, 10);
  b.hint = strtoll(argv[5], NULL, 10);
  b.chunk = strtoll(argv[6], NULL, 10);
  if (b.extent < 4 * (int64_t)edge || b.extent > 32768) fail("EXTENT: 1024 to 32768");
  MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
  GA_Initialize();
  if (!MA_init(MT_C_DBL, stack_elements, stack_elements)) fail("MA_init");
  const double bytes = 8.0 * (double)b.extent * (double)b.extent;
  /* This lets DRA choose the size of its buffers. */
  check(DRA_Init(4, 2 * bytes, 4 * bytes, -1), "DRA_Init");
  weir_session_options options = {0};
  options.strategy = argv[7];
  check(weir_session_open(MPI_COMM_WORLD, &options, &b.session), "weir_session_open");
  create(&b);

  const int64_t half = b.extent / 2 / edge * edge;
  const int64_t first = (b.extent - half) / 2 / edge * edge;
  const Part parts[] = {{"whole", {0, 0}, {b.extent, b.extent}},
                        {"aligned", {first, first}, {half, half}},
                        {"unaligned", {first + 37, first + 37}, {half - 5, half - 5}}};
  for (size_t n = 0; n < sizeof parts / sizeof parts[0]; ++n) {
    for (int number = 0; number <= pairs; ++number) pair(&b, &parts[n], number);
  }
  check(DRA_Close(b.disk_array), "DRA_Close");
  check(weir_session_close(&b.session), "weir_session_close");
  DRA_Terminate();
  GA_Destroy(b.global_array);
  GA_Terminate();
  MPI_Finalize();
  return 0;
}

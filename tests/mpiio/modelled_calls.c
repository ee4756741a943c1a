/* Makes random calls of MPI-IO and compares the file, what was read, counts, file pointers and
 * sizes with a model that follows from the standard's definition of datatypes and views alone.
 *
 *   modelled_calls SEED ROUNDS [MIXTURE]
 *
 * MIXTURE: all (default), or collective for blocking collective calls alone, or staged: of all, of
 * which some reach the file only with MPI_File_sync.
 *
 * All ranks draw the same numbers and know the file as it should be. Prints a line for each
 * difference, repairs the file, and goes on; ends with status 1 if there was one. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "modelled_rounds.h"

enum { most_memory = 1 << 17 };
static const char* const path = "modelled.out";
static int rank;
static int ranks;
static int call_number;
static int differences;
static int only_collective;
static int is_staged;
static MPI_File file_now;
static char what[200]; /* the call that is being made */

static void differ(const char* of, long long expected, long long found) {
  ++differences;
  printf("call %d, rank %d, %s: %s is %lld and should be %lld\n", call_number, rank, what, of,
         found, expected);
  fflush(stdout);
}

static void expect(const char* of, long long expected, long long found) {
  if (expected != found) differ(of, expected, found);
}

/* The file as it should be, and which ranks write a byte at once. */
static unsigned char image[most_bytes];
static unsigned char writers[most_bytes];
static unsigned char known[most_bytes]; /* written before */
static unsigned char found[most_bytes];
static int64_t size;
static int64_t shared_pointer; /* in elements */
static int64_t pointers[most_ranks];
static unsigned char memory[most_memory];
static unsigned char expected[most_memory];
static unsigned char is_open[most_memory];

static unsigned char value(int r, int64_t place) {
  uint64_t mixed =
      (uint64_t)place * 0x9E3779B97F4A7C15U + (uint64_t)(call_number * 8 + r) * 0xBF58476DU;
  mixed ^= mixed >> 29U;
  return (unsigned char)(mixed * 0x94D049BB133111EBU >> 56U | 1U);
}

/* Byte `number` of the memory is byte `swapped` of the file if the view is of external32. */
static int64_t swapped(const struct Round* round, int64_t number) {
  if (!round->is_external) return number;
  return number / round->basic_bytes * round->basic_bytes + round->basic_bytes - 1 -
         number % round->basic_bytes;
}

static void write_to_image(const struct Round* round, const struct Part* part, int r) {
  for (int64_t i = 0; i < bytes_of(part); ++i) {
    const int64_t place = in_file(&round->views[r], part, swapped(round, i));
    image[place] = value(r, in_memory(part, i));
    writers[place] |= (unsigned char)(1U << (unsigned)r);
    known[place] = 1;
    if (place >= size) size = place + 1;
  }
}

static int is_one(unsigned set) { return (set & (set - 1U)) == 0; }

static void repair(int file) {
  if (pwrite(file, image, (size_t)size, 0) != size || ftruncate(file, size) != 0) {
    MPI_Abort(MPI_COMM_WORLD, 8);
  }
}

/* Compares the file with the image on rank 0. Of what several ranks wrote at once it takes what it
 * finds. */
static void compare_file(void) {
  if (is_staged) {
    int is_disputed = 0;
    for (int64_t i = 0; i < size; ++i) is_disputed = is_disputed || !is_one(writers[i]);
    memset(writers, 0, is_disputed ? 0 : most_bytes);
    if (!is_disputed && between(0, 2) > 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      return;
    }
    MPI_File_sync(file_now);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat facts;
    if (file < 0 || fstat(file, &facts) != 0) MPI_Abort(MPI_COMM_WORLD, 8);
    expect("the size of the file", size, facts.st_size);
    memset(found, 0, most_bytes);
    if (pread(file, found, most_bytes, 0) < 0) MPI_Abort(MPI_COMM_WORLD, 8);
    int64_t wrong = 0;
    int64_t first = -1;
    int64_t holes = 0;
    int64_t first_hole = -1;
    for (int64_t i = 0; i < size; ++i) {
      if (found[i] == image[i]) continue;
      if (!is_one(writers[i])) {
        image[i] = found[i];
        continue;
      }
      if (!known[i]) {
        if (holes++ == 0) first_hole = i;
        continue;
      }
      if (wrong++ == 0) first = i;
    }
    if (holes > 0) {
      printf(
          "note: call %d, %s: %lld bytes that were never written are changed, the first at %lld\n",
          call_number, what, (long long)holes, (long long)first_hole);
    }
    if (wrong > 0) {
      printf(
          "call %d, %s: %lld bytes of the file are wrong, the first at %lld, which %s: %d for %d\n",
          call_number, what, (long long)wrong, (long long)first,
          writers[first] ? "was written"
          : known[first] ? "was written earlier"
                         : "was never written",
          found[first], image[first]);
      fflush(stdout);
      ++differences;
    }
    if (wrong > 0 || holes > 0 || size != facts.st_size) repair(file);
    close(file);
  }
  MPI_Bcast(image, most_bytes / 2, MPI_BYTE, 0, MPI_COMM_WORLD);
  memset(writers, 0, most_bytes);
}

static void prepare_memory(void) {
  for (int64_t i = 0; i < most_memory; ++i) memory[i] = value(rank, i);
  memcpy(expected, memory, most_memory);
  memset(is_open, 0, most_memory);
}

/* Returns how many bytes a read gets. */
static int64_t read_from_image(const struct Round* round, const struct Part* part) {
  int64_t got = 0;
  for (int64_t i = 0; i < bytes_of(part); ++i) {
    const int64_t place = in_file(&round->views[rank], part, swapped(round, i));
    if (place >= size) { /* may be changed or not */
      is_open[in_memory(part, i)] = 1;
      continue;
    }
    expected[in_memory(part, i)] = image[place];
    ++got;
  }
  return got;
}

static void compare_memory(void) {
  int64_t wrong = 0;
  int64_t first = -1;
  for (int64_t i = 0; i < most_memory; ++i) {
    if (is_open[i] || memory[i] == expected[i]) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return;
  ++differences;
  printf("call %d, rank %d, %s: %lld bytes of memory are wrong, the first at %lld: %d for %d\n",
         call_number, rank, what, (long long)wrong, (long long)(first - memory_origin),
         memory[first], expected[first]);
  fflush(stdout);
}

enum Way {
  at_all,
  here_all,
  split_at,
  split_here,
  later_at_all,
  later_all,
  later_at,
  later_here,
  at,
  here,
  shared,
  ordered,
  split_ordered,
  ways
};
static const char* const way_names[] = {"at_all", "all",     "at_all_begin", "all_begin", "iat_all",
                                        "iall",   "iat",     "ihere",        "at",        "here",
                                        "shared", "ordered", "ordered_begin"};

static int is_nonblocking(enum Way way) { return way >= later_at_all && way <= later_here; }

/* Whether a rank makes the call without the others. */
static int is_independent(enum Way way) { return way >= later_at && way <= shared; }

/* Whether the call begins at the shared file pointer. */
static int is_at_shared_pointer(enum Way way) { return way >= shared; }

/* Whether the call begins at the file pointer. */
static int is_at_pointer(enum Way way) {
  return way == here_all || way == split_here || way == later_all || way == later_here ||
         way == here;
}

/* At the end of the file, libraries disagree: some tell what was asked for. */
static void check_status(enum Way way, MPI_Status* status, int result, int64_t bytes,
                         int64_t asked) {
  int got = -1;
  int cancelled = -1;
  expect("the result", MPI_SUCCESS, result);
  if (result != MPI_SUCCESS) return;
  MPI_Get_count(status, MPI_BYTE, &got);
  MPI_Test_cancelled(status, &cancelled);
  if (got != asked) expect("the count", bytes, got);
  /* Open MPI 4.1.4 leaves the flag undefined for other calls. */
  if (way == at_all || way == here_all) expect("whether it was cancelled", 0, cancelled);
}

static void check_pointer(MPI_File file, enum Way way) {
  MPI_Offset position = -1;
  if (is_at_shared_pointer(way)) {
    MPI_File_get_position_shared(file, &position);
    expect("the shared file pointer", shared_pointer, position);
  }
  MPI_Offset bytes = -1;
  MPI_File_get_position(file, &position);
  expect("the file pointer", pointers[rank], position);
  if (is_staged) MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_size(file, &bytes);
  if (is_staged) expect("the size that is told", size, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Completes a request in one of several ways. */
static int complete(MPI_Request* request, MPI_Status* status) {
  int flag = 0;
  int result = MPI_SUCCESS;
  switch (call_number % 3) {
    case 0:
      return MPI_Wait(request, status);
    case 1:
      while (!flag && result == MPI_SUCCESS) result = MPI_Test(request, &flag, status);
      return result;
    default:
      return MPI_Waitall(1, request, status);
  }
}

static int transfer(MPI_File file, enum Way way, int writing, const struct Part* part,
                    MPI_Status* status) {
  void* const buffer = memory + memory_origin;
  const MPI_Datatype type = part->memory.mpi;
  const int count = part->count;
  const MPI_Offset offset = part->offset;
  MPI_Request request = MPI_REQUEST_NULL;
  int result = MPI_SUCCESS;
  switch (way) {
    case at_all:
      return writing ? MPI_File_write_at_all(file, offset, buffer, count, type, status)
                     : MPI_File_read_at_all(file, offset, buffer, count, type, status);
    case here_all:
      return writing ? MPI_File_write_all(file, buffer, count, type, status)
                     : MPI_File_read_all(file, buffer, count, type, status);
    case split_at:
      result = writing ? MPI_File_write_at_all_begin(file, offset, buffer, count, type)
                       : MPI_File_read_at_all_begin(file, offset, buffer, count, type);
      if (result != MPI_SUCCESS) return result;
      return writing ? MPI_File_write_at_all_end(file, buffer, status)
                     : MPI_File_read_at_all_end(file, buffer, status);
    case split_here:
      result = writing ? MPI_File_write_all_begin(file, buffer, count, type)
                       : MPI_File_read_all_begin(file, buffer, count, type);
      if (result != MPI_SUCCESS) return result;
      return writing ? MPI_File_write_all_end(file, buffer, status)
                     : MPI_File_read_all_end(file, buffer, status);
    case later_at_all:
      result = writing ? MPI_File_iwrite_at_all(file, offset, buffer, count, type, &request)
                       : MPI_File_iread_at_all(file, offset, buffer, count, type, &request);
      return result != MPI_SUCCESS ? result : complete(&request, status);
    case later_all:
      result = writing ? MPI_File_iwrite_all(file, buffer, count, type, &request)
                       : MPI_File_iread_all(file, buffer, count, type, &request);
      return result != MPI_SUCCESS ? result : complete(&request, status);
    case later_here:
      result = writing ? MPI_File_iwrite(file, buffer, count, type, &request)
                       : MPI_File_iread(file, buffer, count, type, &request);
      return result != MPI_SUCCESS ? result : complete(&request, status);
    case later_at:
      result = writing ? MPI_File_iwrite_at(file, offset, buffer, count, type, &request)
                       : MPI_File_iread_at(file, offset, buffer, count, type, &request);
      return result != MPI_SUCCESS ? result : complete(&request, status);
    case at:
      return writing ? MPI_File_write_at(file, offset, buffer, count, type, status)
                     : MPI_File_read_at(file, offset, buffer, count, type, status);
    case here:
      return writing ? MPI_File_write(file, buffer, count, type, status)
                     : MPI_File_read(file, buffer, count, type, status);
    case shared:
      return writing ? MPI_File_write_shared(file, buffer, count, type, status)
                     : MPI_File_read_shared(file, buffer, count, type, status);
    case split_ordered:
      result = writing ? MPI_File_write_ordered_begin(file, buffer, count, type)
                       : MPI_File_read_ordered_begin(file, buffer, count, type);
      if (result != MPI_SUCCESS) return result;
      return writing ? MPI_File_write_ordered_end(file, buffer, status)
                     : MPI_File_read_ordered_end(file, buffer, status);
    default:
      return writing ? MPI_File_write_ordered(file, buffer, count, type, status)
                     : MPI_File_read_ordered(file, buffer, count, type, status);
  }
}

static enum Way random_way(const struct Round* round) {
  if (only_collective || between(0, 1)) return between(0, 2) ? at_all : here_all;
  const enum Way way = (enum Way)between(split_at, ways - 1);
  return is_at_shared_pointer(way) && !round->is_shared ? at_all : way;
}

static void set_offsets(const struct Round* round, enum Way way, struct Part* parts) {
  const int seeks = between(0, 1) || way == split_here;
  for (int r = 0; r < ranks; ++r) {
    const int64_t elements = bytes_of(&parts[r]) / round->views[r].element_bytes;
    if (is_at_shared_pointer(way)) {
      parts[r].offset = shared_pointer;
      shared_pointer += elements;
    }
    if (!is_at_pointer(way)) continue;
    if (seeks || round->is_shared) {
      pointers[r] = parts[r].offset;
    } else {
      parts[r].offset = pointers[r];
      const int64_t last = bytes_of(&parts[r]) - 1;
      if (last >= 0 && in_file(&round->views[r], &parts[r], last) >= most_bytes / 2) {
        parts[r].count = 0;
        continue;
      }
    }
    pointers[r] += elements;
  }
}

/* A split or nonblocking read past the end of the file never ends in Open MPI 4.1.4. */
static void stay_in_file(const struct Round* round, enum Way way, struct Part* parts) {
  if (way != split_at && way != split_here && !is_nonblocking(way)) return;
  for (int r = 0; r < ranks; ++r) {
    const int64_t last = bytes_of(&parts[r]) - 1;
    if (last >= 0 && in_file(&round->views[r], &parts[r], last) >= size) parts[r].count = 0;
  }
}

static void random_call(MPI_File file, const struct Round* round) {
  struct Part parts[most_ranks];
  const enum Way way = random_way(round);
  /* A split read past the end never ends in Open MPI 4.1.4, and it may be there. */
  const int writing = between(0, 4) < 3 || way == split_ordered;
  /* Independent calls are made one after the other, or all at once. Those at the shared file
   * pointer are ordered by that. */
  const int in_turn = is_independent(way) && (between(0, 1) || way == shared);
  for (int r = 0; r < ranks; ++r) parts[r] = random_part(round, r);
  const int64_t before = pointers[rank];
  if (!writing) stay_in_file(round, way, parts);
  set_offsets(round, way, parts);
  snprintf(what, sizeof what, "%s %s%s", writing ? "write" : "read", way_names[way],
           round->is_external ? " external32" : "");
  if (is_at_pointer(way)) {
    const MPI_Offset offset = parts[rank].offset;
    if (offset != before && call_number % 2 == 0) MPI_File_seek(file, offset, MPI_SEEK_SET);
    if (offset != before && call_number % 2 == 1) {
      MPI_File_seek(file, offset - before, MPI_SEEK_CUR);
    }
  }
  prepare_memory();
  int64_t bytes = bytes_of(&parts[rank]);
  if (writing) {
    for (int r = 0; r < ranks; ++r) {
      write_to_image(round, &parts[r], r);
      if (in_turn) memset(writers, 0, most_bytes);
    }
  } else {
    bytes = read_from_image(round, &parts[rank]);
  }
  MPI_Status status;
  memset(&status, 0, sizeof status);
  int result = MPI_SUCCESS;
  for (int turn = 0; turn < (in_turn ? ranks : 1); ++turn) {
    if (!in_turn || turn == rank) {
      result = transfer(file, way, writing, &parts[rank], &status);
    }
    if (in_turn) MPI_Barrier(MPI_COMM_WORLD);
  }
  check_status(way, &status, result, bytes, bytes_of(&parts[rank]));
  compare_memory();
  check_pointer(file, way);
  compare_file();
  for (int r = 0; r < ranks; ++r) free_type(&parts[r].memory);
}

static void change_size(MPI_File file) {
  snprintf(what, sizeof what, "set_size");
  size = between(0, 1) ? 0 : between(0, 5000);
  MPI_File_set_size(file, size);
  memset(image + size, 0, (size_t)(most_bytes - size));
  memset(known + size, 0, (size_t)(most_bytes - size));
  compare_file();
}

static void run_round(MPI_File file) {
  struct Round round = random_round();
  if (between(0, 9) == 0) change_size(file);
  struct View* const view = &round.views[rank];
  struct Type element = leaf_of(&round);
  MPI_Type_commit(&element.mpi);
  MPI_Type_commit(&view->type.mpi);
  int result = MPI_File_set_view(file, view->displacement, element.mpi, view->type.mpi,
                                 round.is_external ? "external32" : "native", MPI_INFO_NULL);
  if (result != MPI_SUCCESS && round.is_external) {
    round.is_external = 0;
    result = MPI_File_set_view(file, view->displacement, element.mpi, view->type.mpi, "native",
                               MPI_INFO_NULL);
  }
  snprintf(what, sizeof what, "set_view");
  expect("the result", MPI_SUCCESS, result);
  free_type(&element);
  memset(pointers, 0, sizeof pointers);
  shared_pointer = 0;
  const int is_atomic = !only_collective && between(0, 19) == 0;
  MPI_File_set_atomicity(file, is_atomic);
  for (int calls = between(1, 4); calls > 0; --calls, ++call_number) random_call(file, &round);
  MPI_File_sync(file);
  free_round(&round);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const uint64_t seed = argc > 1 ? (uint64_t)strtoul(argv[1], NULL, 10) : 1;
  const long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
  only_collective = argc > 3 && strcmp(argv[3], "collective") == 0;
  is_staged = argc > 3 && strcmp(argv[3], "staged") == 0;
  begin_drawing(seed, ranks, only_collective);
  if (ranks > most_ranks) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  MPI_File_set_size(file, 0);
  file_now = file;
  for (long round = 0; round < rounds; ++round) run_round(file);
  MPI_File_close(&file);
  int all = 0;
  MPI_Allreduce(&differences, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d calls, %d differences\n", call_number, all);
  MPI_Finalize();
  return all > 0;
}

// Writes datasets of many kinds by all ranks, reads each again in another distribution, and
// compares. It does the same with any VOL connector, and prints how many of its calls the connector
// "weir" should have taken over.
//
//   datasets FILE          exit status 0 if all was as it should be
//   datasets FILE CALL FAULT
//                          a call while the storage has this fault (tests/failure/faulty_io.c), and
//                          again without it. CALL is write, chunks (a write of a dataset in
//                          chunks), pieces (one of a block on each rank), alone (that,
//                          independent), H5Fflush or H5Fclose.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"

// Returns which rows and columns `who` has of a dataset of `rows` x 64 for each rank.
static hid_t columns_of(int who, hsize_t rows) {
  const hsize_t size[] = {rows, 64 * (hsize_t)ranks}, start[] = {0, 64 * (hsize_t)who};
  const hsize_t count[] = {rows, 64};
  return slab(2, size, start, NULL, count, NULL);
}

// Boxes beside and below each other, of which rows alternate.
static hid_t union_of(int who, hsize_t rows) {
  const hsize_t size[] = {rows, 64 * (hsize_t)ranks}, base = 64 * (hsize_t)who;
  const hid_t space = nothing(2, size);
  add_box(space, 0, base, 3, 5);
  add_box(space, 1, base + 9, 4, 7);
  add_box(space, 2, base + 30, 1, 2);
  add_box(space, 4, base, 1, 9);
  return space;
}

static hid_t stripes_of(int who) {
  const hsize_t size[] = {16, 3, 8 * (hsize_t)ranks}, start[] = {1, 0, 2 * (hsize_t)who};
  const hsize_t stride[] = {4, 2, 2 * (hsize_t)ranks}, count[] = {4, 2, 4}, block[] = {2, 1, 2};
  return slab(3, size, start, stride, count, block);
}

static hid_t all_columns(int who) { return columns_of(who, 20); }
static hid_t all_unions(int who) { return union_of(who, 20); }
static hid_t own_rows(int who) {
  const hsize_t size[] = {5 * (hsize_t)ranks, 40}, start[] = {5 * (hsize_t)who, 0};
  const hsize_t count[] = {5, 40};
  return slab(2, size, start, NULL, count, NULL);
}
static hid_t of_first(int who) {
  const hsize_t size[] = {333};
  return who == 0 ? H5Screate_simple(1, size, NULL) : nothing(1, size);
}
static hid_t points_up(int who) {
  const hsize_t size[] = {100};
  const hsize_t points[] = {(hsize_t)who, 20 + (hsize_t)who, 21 + (hsize_t)(who + ranks)};
  const hid_t space = H5Screate_simple(1, size, NULL);
  H5Sselect_elements(space, H5S_SELECT_SET, 3, points);
  return space;
}
static hid_t points_down(int who) {
  const hsize_t size[] = {100};
  const hsize_t points[] = {40 + (hsize_t)who, 20 + (hsize_t)who};
  const hid_t space = H5Screate_simple(1, size, NULL);
  H5Sselect_elements(space, H5S_SELECT_SET, 2, points);
  return space;
}
// As many elements apart from each other as a selection may have that is taken over, and one more.
enum { most_blocks = 16384 };
static hid_t many_points(int who, size_t many) {
  const hsize_t size[] = {2 * (most_blocks + 1) * (hsize_t)ranks};
  const hid_t space = H5Screate_simple(1, size, NULL);
  hsize_t* const points = malloc(many * sizeof *points);
  for (size_t i = 0; i < many; ++i) points[i] = 2 * ((hsize_t)who * (most_blocks + 1) + i);
  H5Sselect_elements(space, H5S_SELECT_SET, many, points);
  free(points);
  return space;
}
static hid_t most_points(int who) { return many_points(who, most_blocks); }
static hid_t too_many_points(int who) { return many_points(who, most_blocks + 1); }
// As many strides in each other as a selection may have that is taken over, and one more.
enum { most_levels = 8 };
static const hsize_t* deep_size(void) {
  static hsize_t size[] = {0, 3, 3, 3, 3, 3, 3, 3, 3, 3};
  size[0] = (hsize_t)ranks;
  return size;
}
static hid_t nested_strides(int who, size_t levels) {
  hsize_t start[2 + most_levels] = {0}, stride[2 + most_levels], times[2 + most_levels];
  start[0] = (hsize_t)who;
  for (size_t d = 0; d < 2 + most_levels; ++d) {
    stride[d] = 2;
    times[d] = d > most_levels + 1 - levels ? 2 : 1;
  }
  return slab(2 + most_levels, deep_size(), start, stride, times, NULL);
}
static hid_t most_strides(int who) { return nested_strides(who, most_levels); }
static hid_t too_many_strides(int who) { return nested_strides(who, most_levels + 1); }
// A box that is moved by an offset.
static hid_t moved_box(int who) {
  const hsize_t size[] = {20, 64 * (hsize_t)ranks}, start[] = {0, 0}, count[] = {6, 10};
  const hssize_t offset[] = {3, 64 * who + 7};
  const hid_t space = slab(2, size, start, NULL, count, NULL);
  H5Soffset_simple(space, offset);
  return space;
}

static void single_calls(hid_t chunked) {
  const hsize_t n = (hsize_t)ranks;
  const hsize_t line[] = {333}, rows[] = {5 * n, 40}, wide[] = {20, 64 * n}, hundred[] = {100};
  const hsize_t cube[] = {16, 3, 8 * n};
  const hid_t contiguous = H5P_DEFAULT;
  hid_t dataset = created("of first", H5T_NATIVE_INT, 1, line, contiguous);
  round_trip(dataset, 0, of_first, H5S_ALL, 1);
  H5Dclose(dataset);
  dataset = created("rows", H5T_NATIVE_INT, 2, rows, contiguous);
  round_trip(dataset, 1, own_rows, H5S_BLOCK, 1);
  H5Dclose(dataset);
  dataset = created("columns", H5T_NATIVE_INT, 2, wide, contiguous);
  round_trip(dataset, 2, all_columns, H5S_BLOCK, 1);
  // Memory like the file, with holes.
  round_trip(dataset, 2, all_columns, H5S_ALL, 1);
  // Memory with a border.
  const hsize_t outer[] = {22, 66}, inner_start[] = {1, 1}, inner[] = {20, 64};
  const hid_t bordered = slab(2, outer, inner_start, NULL, inner, NULL);
  round_trip(dataset, 2, all_columns, bordered, 1);
  H5Sclose(bordered);
  H5Dclose(dataset);
  dataset = created("stripes", H5T_NATIVE_INT, 3, cube, contiguous);
  round_trip(dataset, 3, stripes_of, H5S_BLOCK, 1);
  H5Dclose(dataset);
  dataset = created("unions", H5T_NATIVE_INT, 2, wide, contiguous);
  round_trip(dataset, 4, all_unions, H5S_BLOCK, 1);
  round_trip(dataset, 4, all_unions, H5S_ALL, 1);
  round_trip(dataset, 4, moved_box, H5S_BLOCK, 1);
  H5Dclose(dataset);
  dataset = created("points", H5T_NATIVE_INT, 1, hundred, contiguous);
  round_trip(dataset, 5, points_up, H5S_BLOCK, 1);
  round_trip(dataset, 5, points_down, H5S_BLOCK, 0);
  H5Dclose(dataset);
  const hsize_t long_line[] = {2 * (most_blocks + 1) * n};
  dataset = created("many points", H5T_NATIVE_INT, 1, long_line, contiguous);
  round_trip(dataset, 0, most_points, H5S_BLOCK, 1);
  round_trip(dataset, 0, too_many_points, H5S_BLOCK, 0);
  H5Dclose(dataset);
  dataset = created("strides", H5T_NATIVE_INT, 2 + most_levels, deep_size(), contiguous);
  round_trip(dataset, 0, most_strides, H5S_BLOCK, 1);
  round_trip(dataset, 0, too_many_strides, H5S_BLOCK, 0);
  H5Dclose(dataset);
  dataset = created("chunked", H5T_NATIVE_INT, 2, wide, chunked);
  round_trip(dataset, 6, all_columns, H5S_BLOCK, 0);
  H5Dclose(dataset);
  // Bytes in the other order are converted.
  dataset = created("converted", H5T_STD_I32BE, 2, wide, contiguous);
  round_trip(dataset, 7, all_columns, H5S_BLOCK, 0);
  H5Dclose(dataset);
}

// These tests are about what concerns a single rank, and other properties of a call.
static void particular_calls(void) {
  const hsize_t wide[] = {20, 64 * (hsize_t)ranks};
  const hid_t dataset = created("particular", H5T_NATIVE_INT, 2, wide, H5P_DEFAULT);
  struct Part part = {dataset, 8, all_columns(rank), H5S_BLOCK, NULL, 0};
  // An element that is as long, and of another type on one rank.
  move(1, &part, 1, rank == 0 ? H5T_NATIVE_UINT : H5T_NATIVE_INT, collective, 0);
  const hid_t transformed = H5Pcopy(collective);
  H5Pset_data_transform(transformed, "x*1");
  move(1, &part, 1, H5T_NATIVE_INT, transformed, 0);
  H5Pclose(transformed);
  const hid_t by_each = H5Pcopy(collective);
  H5Pset_dxpl_mpio_collective_opt(by_each, H5FD_MPIO_INDIVIDUAL_IO);
  move(1, &part, 1, H5T_NATIVE_INT, by_each, 0);
  H5Pclose(by_each);
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  // All ranks read the same, and see what all wrote.
  const hid_t own = part.in_file;
  part.in_file = H5S_ALL;
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  // All ranks write the same: nobody can say in which order.
  move(1, &part, 1, H5T_NATIVE_INT, collective, ranks == 1);
  part.in_file = own;

  // In atomic mode the MPI library moves the bytes.
  H5Fset_mpi_atomicity(file, 1);
  move(1, &part, 1, H5T_NATIVE_INT, collective, 0);
  H5Fset_mpi_atomicity(file, 0);
  move(1, &part, 1, H5T_NATIVE_INT, collective, 1);

  // Another id of the same dataset, and another one of the file.
  check(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush");
  const hid_t other = H5Oopen(file, "particular", H5P_DEFAULT);
  part.dataset = other;
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  H5Oclose(other);
  const hid_t again = H5Freopen(file);
  part.dataset = H5Dopen2(again, "particular", H5P_DEFAULT);
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  H5Dclose(part.dataset);
  check(H5Fclose(again) >= 0, "H5Fclose of another id");
  H5Sclose(part.in_file);
  H5Dclose(dataset);
}

static void independent_calls(void) {
  const hsize_t wide[] = {20, 64 * (hsize_t)ranks}, hundred[] = {100}, line[] = {333};
  hid_t dataset = created("alone", H5T_NATIVE_INT, 2, wide, H5P_DEFAULT);
  alone(dataset, 15, all_columns, H5S_BLOCK, 1);
  alone(dataset, 15, all_unions, H5S_ALL, 1);
  alone(dataset, 15, moved_box, H5S_BLOCK, 1);
  // No rank waits for another one.
  if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  struct Part part = {dataset, 16, all_columns(rank), H5S_BLOCK, NULL, 0};
  move(1, &part, 1, H5T_NATIVE_INT, independent, 1);
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  // What each has written, all see, and the other way round.
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  part.number = 17;
  move(1, &part, 1, H5T_NATIVE_INT, collective, 1);
  move(0, &part, 1, H5T_NATIVE_INT, independent, 1);
  H5Fset_mpi_atomicity(file, 1);
  move(1, &part, 1, H5T_NATIVE_INT, independent, 0);
  H5Fset_mpi_atomicity(file, 0);
  const hid_t transformed = H5Pcopy(independent);
  H5Pset_data_transform(transformed, "x*1");
  move(1, &part, 1, H5T_NATIVE_INT, transformed, 0);
  H5Pclose(transformed);
  H5Sclose(part.in_file);
  // Several datasets in one call.
  struct Part parts[2] = {{dataset, 18, all_columns(rank), H5S_BLOCK, NULL, 0},
                          {created("alone, too", H5T_NATIVE_INT, 2, wide, H5P_DEFAULT), 19,
                           all_unions(rank), H5S_ALL, NULL, 0}};
  for (int writing = 1; writing >= 0; --writing) {
    move(writing, parts, 2, H5T_NATIVE_INT, independent, 1);
  }
  for (int i = 0; i < 2; ++i) {
    H5Sclose(parts[i].in_file);
    H5Dclose(parts[i].dataset);
  }
  dataset = created("first alone", H5T_NATIVE_INT, 1, line, H5P_DEFAULT);
  alone(dataset, 20, of_first, H5S_ALL, 1);
  H5Dclose(dataset);
  dataset = created("points alone", H5T_NATIVE_INT, 1, hundred, H5P_DEFAULT);
  alone(dataset, 21, points_up, H5S_BLOCK, 1);
  alone(dataset, 21, points_down, H5S_BLOCK, 0);
  H5Dclose(dataset);
}

// The file ends before a dataset of which nothing was written.
static void unwritten_dataset(void) {
  enum { elements = 1 << 18 };
  const hsize_t size[] = {elements}, first[] = {elements - 10}, ten[] = {10};
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  const hid_t dataset = created("unwritten", H5T_NATIVE_INT, 1, size, creation);
  const hid_t in_file = slab(1, size, first, NULL, ten, NULL);
  int found[10] = {1};
  check(H5Dread(dataset, H5T_NATIVE_INT, H5S_BLOCK, in_file, independent, found) >= 0, "a read");
  ++passed[1];
  check(found[0] == 0, "what is behind the end of the file is zero");
  H5Sclose(in_file);
  H5Dclose(dataset);
  H5Pclose(creation);
}

static void calls_of_several(hid_t chunked) {
  const hsize_t n = (hsize_t)ranks;
  const hsize_t line[] = {333}, wide[] = {20, 64 * n}, rows[] = {5 * n, 40};
  struct Part parts[5];
  // In another order than that of the file.
  const hid_t last = created("several a", H5T_NATIVE_INT, 2, wide, H5P_DEFAULT);
  const hid_t first = created("several b", H5T_NATIVE_INT, 1, line, H5P_DEFAULT);
  const hid_t between = created("several c", H5T_NATIVE_INT, 2, rows, H5P_DEFAULT);
  const hid_t in_chunks = created("several d", H5T_NATIVE_INT, 2, wide, chunked);
  const hid_t datasets[] = {between, last, first, in_chunks};
  hid_t (*const of[])(int) = {own_rows, all_unions, of_first, all_columns};
  for (size_t several = 2; several <= 4; ++several) {
    for (int writing = 1; writing >= 0; --writing) {
      const int who = writing ? rank : (rank + 1) % ranks;
      for (size_t i = 0; i < several; ++i) {
        const hid_t space = of[i](who);
        parts[i] =
            (struct Part){datasets[i], 9 + (int)i, space, i == 1 ? H5S_ALL : H5S_BLOCK, NULL, 0};
      }
      move(writing, parts, several, H5T_NATIVE_INT, collective, several < 4);
      for (size_t i = 0; i < several; ++i) H5Sclose(parts[i].in_file);
    }
  }
  for (int i = 0; i < 4; ++i) H5Dclose(datasets[i]);
}

struct Pair {
  double weight;
  short counts[2];
};

// A type that is stored in the file, of which a string of fixed length is a part.
static void stored_type(void) {
  const hsize_t two = 2, each = 10, size[] = {each * (hsize_t)ranks};
  const hid_t shorts = H5Tarray_create2(H5T_NATIVE_SHORT, 1, &two);
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct Pair));
  H5Tinsert(type, "weight", HOFFSET(struct Pair, weight), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "counts", HOFFSET(struct Pair, counts), shorts);
  check(H5Tcommit2(file, "pair", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0, "H5Tcommit2");
  const hid_t dataset = created("pairs", type, 1, size, H5P_DEFAULT);
  const hid_t stored = H5Dget_type(dataset);
  check(H5Tcommitted(stored) > 0, "the type of a dataset is stored");
  const hsize_t start[] = {each * (hsize_t)rank};
  const hid_t in_file = slab(1, size, start, NULL, &each, NULL);
  struct Pair pairs[10], found[10];
  memset(pairs, 0, sizeof pairs);
  memset(found, 0, sizeof found);
  for (int i = 0; i < 10; ++i) pairs[i] = (struct Pair){100 * rank + i, {(short)i, (short)rank}};
  check(H5Dwrite(dataset, type, H5S_BLOCK, in_file, collective, pairs) >= 0, "pairs are written");
  check(H5Dread(dataset, stored, H5S_BLOCK, in_file, collective, found) >= 0, "pairs are read");
  for (int i = 0; i < 10; ++i) {
    check(found[i].weight == pairs[i].weight && found[i].counts[1] == rank, "a pair");
  }
  // A part of the members is not copied byte by byte.
  const hid_t weights = H5Tcreate(H5T_COMPOUND, sizeof(double));
  H5Tinsert(weights, "weight", 0, H5T_NATIVE_DOUBLE);
  double only[10];
  check(H5Dread(dataset, weights, H5S_BLOCK, in_file, collective, only) >= 0, "weights are read");
  check(only[9] == 100 * rank + 9, "a weight");
  ++taken[0];
  ++taken[1];
  ++passed[1];
  H5Tclose(weights);
  H5Tclose(shorts);
  H5Tclose(type);
  H5Tclose(stored);
  H5Sclose(in_file);
  H5Dclose(dataset);
}

// Calls with an event set are done when they return, and their bytes are there.
static void calls_with_events(void) {
  const hsize_t wide[] = {20, 64 * (hsize_t)ranks};
  struct Part part = {.dataset = created("events", H5T_NATIVE_INT, 2, wide, H5P_DEFAULT),
                      .number = 14,
                      .in_file = all_columns(rank),
                      .in_memory = H5S_BLOCK};
  const hid_t events = H5EScreate();
  prepare(&part);
  each_element(&part, 0);
  check(H5Dwrite_async(part.dataset, H5T_NATIVE_INT, H5S_BLOCK, part.in_file, collective,
                       part.memory, events) >= 0,
        "H5Dwrite_async");
  for (size_t i = 0; i < part.size; ++i) part.memory[i] = -1;
  check(H5Dread_async(part.dataset, H5T_NATIVE_INT, H5S_BLOCK, part.in_file, collective,
                      part.memory, events) >= 0,
        "H5Dread_async");
  size_t waiting = 1;
  hbool_t has_failed = 1;
  check(H5ESwait(events, H5ES_WAIT_FOREVER, &waiting, &has_failed) >= 0 && waiting == 0,
        "nothing is waited for");
  check(H5ESget_err_status(events, &has_failed) >= 0 && !has_failed, "nothing has failed");
  each_element(&part, 1);
  ++taken[0];
  ++taken[1];
  check(H5ESclose(events) >= 0, "H5ESclose");
  free(part.memory);
  H5Sclose(part.in_file);
  H5Dclose(part.dataset);
}

// What HDF5 refuses, it refuses with the connector, too.
static void refused_calls(void) {
  const hsize_t wide[] = {20, 64 * (hsize_t)ranks};
  const hid_t dataset = created("refused", H5T_NATIVE_INT, 2, wide, H5P_DEFAULT);
  const hid_t in_file = all_columns(rank);
  const hsize_t few[] = {7};
  const hid_t in_memory = H5Screate_simple(1, few, NULL);
  int memory[7] = {0};
  herr_t done = -1;
  H5E_BEGIN_TRY {
    done = H5Dwrite(dataset, H5T_NATIVE_INT, in_memory, in_file, collective, memory);
  }
  H5E_END_TRY
  check(done < 0, "another number of elements in memory is refused");
  ++passed[0];
  H5Sclose(in_memory);
  H5Sclose(in_file);
  H5Dclose(dataset);
}

static herr_t called(const char* call, const struct Part* part) {
  if (strcmp(call, "H5Fflush") == 0) return H5Fflush(file, H5F_SCOPE_GLOBAL);
  if (strcmp(call, "H5Fclose") == 0) return H5Fclose(file);
  return H5Dwrite(part->dataset, H5T_NATIVE_INT, H5S_BLOCK, part->in_file,
                  strcmp(call, "alone") == 0 ? independent : collective, part->memory);
}

// What was written before the fault, or again after it, is in the file.
static void call_twice(const char* path, const char* call, const char* fault) {
  const int closes = strcmp(call, "H5Fclose") == 0,
            own = strcmp(call, "pieces") == 0 || strcmp(call, "alone") == 0;
  const hsize_t wide[] = {20, 64 * (hsize_t)ranks}, rows[] = {5 * (hsize_t)ranks, 40};
  const hsize_t chunk[] = {7, 50};
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (strcmp(call, "chunks") == 0) H5Pset_chunk(creation, 2, chunk);
  struct Part part = {.dataset = created("it", H5T_NATIVE_INT, 2, own ? rows : wide, creation),
                      .number = 2,
                      .in_file = own ? own_rows(rank) : all_columns(rank),
                      .in_memory = H5S_BLOCK};
  H5Pclose(creation);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  prepare(&part);
  each_element(&part, 0);
  if (strstr(call, "H5") == call) check(called("write", &part) >= 0, "a write failed");
  if (closes) H5Dclose(part.dataset);
  MPI_Barrier(MPI_COMM_WORLD);
  setenv("WEIR_FAULT", fault, 1);
  fsync(STDERR_FILENO);  // close() alone does not look at the variable
  const herr_t first = called(call, &part);
  unsetenv("WEIR_FAULT");
  MPI_Barrier(MPI_COMM_WORLD);
  const herr_t again = first < 0 || !closes ? called(call, &part) : 0;
  printf("rank %d: %s, then %s\n", rank, first < 0 ? "refused" : "done",
         again < 0 ? "refused" : "done");
  free(part.memory);
  if (closes) {
    file = opened(path, 0);
    part.dataset = H5Dopen2(file, "it", H5P_DEFAULT);
  }
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  H5Sclose(part.in_file);
  H5Dclose(part.dataset);
  check(H5Fclose(file) >= 0, "H5Fclose");
}

int main(int count, char** words) {
  if (count < 2) return 2;
  begin(&count, &words);
  const hid_t chunked = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk[] = {7, 50};
  H5Pset_chunk(chunked, 2, chunk);
  H5Pset_deflate(chunked, 1);
  file = opened(words[1], 1);
  check(file >= 0, "H5Fcreate");
  if (count > 3) {
    call_twice(words[1], words[2], words[3]);
    return end();
  }
  single_calls(chunked);
  particular_calls();
  independent_calls();
  unwritten_dataset();
  calls_of_several(chunked);
  stored_type();
  calls_with_events();
  refused_calls();
  check(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1, "nothing but the file is open");
  check(H5Fclose(file) >= 0, "H5Fclose");

  // Another opening, which only reads.
  file = opened(words[1], 0);
  struct Part part = {
      H5Dopen2(file, "columns", H5P_DEFAULT), 2, all_columns(rank), H5S_BLOCK, NULL, 0};
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  H5Sclose(part.in_file);
  H5Dclose(part.dataset);
  check(H5Fclose(file) >= 0, "H5Fclose");
  H5Pclose(chunked);
  tell_calls();
  return end();
}

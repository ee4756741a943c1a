// Writes and reads datasets in chunks by all ranks, as datasets.c does with others.
//
//   chunks FILE
//   chunks FILE many     two datasets: of as many chunks as Weir takes, and of one more
//   chunks FILE cut      a dataset that shrinks and cuts a chunk, of which HDF5 1.14.5 alone may
//   lose
//                        what ranks write to this chunk
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

static hid_t in_chunks(int dimensions, const hsize_t* extents) {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, dimensions, extents);
  return creation;
}

// Creates a dataset of chunks; `most` is how long it may become.
static hid_t made(const char* name, hid_t type, int dimensions, const hsize_t* size,
                  const hsize_t* most, const hsize_t* chunk) {
  const hid_t creation = in_chunks(dimensions, chunk);
  const hid_t space = H5Screate_simple(dimensions, size, most);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  check(dataset >= 0, name);
  H5Sclose(space);
  H5Pclose(creation);
  return dataset;
}

static hid_t columns(int who) {
  const hsize_t size[] = {20, 64 * (hsize_t)ranks}, start[] = {0, 64 * (hsize_t)who};
  const hsize_t count[] = {20, 64};
  return slab(2, size, start, NULL, count, NULL);
}
static hid_t chunk_rows(int who) {
  const hsize_t size[] = {5 * (hsize_t)ranks, 40}, start[] = {5 * (hsize_t)who, 0};
  const hsize_t count[] = {5, 40};
  return slab(2, size, start, NULL, count, NULL);
}
// Single elements, or blocks of two, at strides that chunks do not share.
static hid_t strided(int who, hsize_t length) {
  const hsize_t n = (hsize_t)ranks, size[] = {16, 3, 8 * n};
  const hsize_t start[] = {1, 0, length * (hsize_t)who}, stride[] = {5, 2, length * n};
  const hsize_t count[] = {3, 2, 8 / length}, block[] = {1, 1, length};
  return slab(3, size, start, stride, count, block);
}
static hid_t strides(int who) { return strided(who, 1); }
static hid_t strides_of_pairs(int who) { return strided(who, 2); }
// Blocks of all lengths: 3 rows of 5, and of 11 elements of each rank along the other dimension,
// which are cut at the edges of chunks; ranks but the first have nothing if there are more than
// two.
static hid_t blocks(int who) {
  const hsize_t n = (hsize_t)ranks, size[] = {20, 64 * n}, start[] = {2, 11 * (hsize_t)who};
  const hsize_t stride[] = {5, 11 * n + 3}, count[] = {4, 4}, block[] = {3, 11};
  return ranks > 2 && who > 0 ? nothing(2, size) : slab(2, size, start, stride, count, block);
}
static hid_t boxes(int who) {
  const hsize_t size[] = {20, 64 * (hsize_t)ranks}, base = 64 * (hsize_t)who;
  const hid_t space = nothing(2, size);
  add_box(space, 0, base, 3, 5);
  add_box(space, 1, base + 9, 4, 7);
  return space;
}
static hid_t of_last(int who) {
  const hsize_t size[] = {333};
  return who == ranks - 1 ? H5Screate_simple(1, size, NULL) : nothing(1, size);
}
static hid_t moved_box(int who) {
  const hsize_t size[] = {20, 64 * (hsize_t)ranks}, start[] = {0, 0}, count[] = {9, 31};
  const hssize_t offset[] = {11, 64 * who + 7};
  const hid_t space = slab(2, size, start, NULL, count, NULL);
  H5Soffset_simple(space, offset);
  return space;
}

static void selections(void) {
  const hsize_t n = (hsize_t)ranks;
  const hsize_t wide[] = {20, 64 * n}, chunk[] = {7, 50}, cube[] = {16, 3, 8 * n};
  const hsize_t small[] = {5, 2, 7}, rows[] = {5 * n, 40}, row[] = {5, 40};
  const hsize_t line[] = {333}, part[] = {100};
  // Chunks at the edges are stored whole.
  hid_t dataset = made("columns", H5T_NATIVE_INT, 2, wide, NULL, chunk);
  round_trip(dataset, 0, columns, H5S_BLOCK, 1);
  round_trip(dataset, 0, columns, H5S_ALL, 1);
  const hsize_t outer[] = {22, 66}, inner_start[] = {1, 1}, inner[] = {20, 64};
  const hid_t bordered = slab(2, outer, inner_start, NULL, inner, NULL);
  round_trip(dataset, 0, columns, bordered, 1);
  round_trip(dataset, 0, moved_box, H5S_BLOCK, 1);
  round_trip(dataset, 0, boxes, H5S_BLOCK, 0);
  round_trip(dataset, 0, blocks, H5S_BLOCK, 1);
  round_trip(dataset, 0, blocks, H5S_ALL, 1);
  alone(dataset, 0, columns, H5S_BLOCK, 1);
  alone(dataset, 0, columns, bordered, 1);
  alone(dataset, 0, moved_box, H5S_ALL, 1);
  alone(dataset, 0, boxes, H5S_BLOCK, 0);
  alone(dataset, 0, blocks, H5S_BLOCK, 1);
  alone(dataset, 0, blocks, H5S_ALL, 1);
  H5Sclose(bordered);
  H5Dclose(dataset);
  dataset = made("rows", H5T_NATIVE_INT, 2, rows, NULL, row);
  round_trip(dataset, 1, chunk_rows, H5S_BLOCK, 1);
  H5Dclose(dataset);
  dataset = made("strides", H5T_NATIVE_INT, 3, cube, NULL, small);
  round_trip(dataset, 2, strides, H5S_BLOCK, 1);
  round_trip(dataset, 2, strides_of_pairs, H5S_BLOCK, 1);
  round_trip(dataset, 2, strides_of_pairs, H5S_ALL, 1);
  alone(dataset, 2, strides, H5S_BLOCK, 1);
  alone(dataset, 2, strides_of_pairs, H5S_BLOCK, 1);
  H5Dclose(dataset);
  dataset = made("of last", H5T_NATIVE_INT, 1, line, NULL, part);
  round_trip(dataset, 3, of_last, H5S_ALL, 1);
  alone(dataset, 3, of_last, H5S_ALL, 1);
  H5Dclose(dataset);
  dataset = made("converted", H5T_STD_I32BE, 2, wide, NULL, chunk);
  round_trip(dataset, 4, columns, H5S_BLOCK, 0);
  alone(dataset, 4, columns, H5S_BLOCK, 0);
  H5Dclose(dataset);
}

static void filtered(void) {
  const hsize_t wide[] = {20, 64 * (hsize_t)ranks}, chunk[] = {7, 50};
  const hid_t creation = in_chunks(2, chunk);
  H5Pset_deflate(creation, 1);
  const hid_t dataset = created("filtered", H5T_NATIVE_INT, 2, wide, creation);
  round_trip(dataset, 5, columns, H5S_BLOCK, 0);
  H5Dclose(dataset);
  H5Pclose(creation);
}

static hid_t second_columns(int who) { return columns((who + 1) % ranks); }

// Calls for several datasets, of which three are in chunks. Ranks name them in different orders.
static void of_several(void) {
  enum { most = 5 };
  const hsize_t n = (hsize_t)ranks, wide[] = {20, 64 * n}, chunk[] = {7, 50};
  const hsize_t rows[] = {5 * n, 40}, row[] = {5, 40};
  const hid_t datasets[most] = {made("several a", H5T_NATIVE_INT, 2, wide, NULL, chunk),
                                created("several b", H5T_NATIVE_INT, 2, wide, H5P_DEFAULT),
                                made("several c", H5T_NATIVE_INT, 2, rows, NULL, row),
                                created("several d", H5T_NATIVE_INT, 2, wide, H5P_DEFAULT),
                                made("several e", H5T_NATIVE_INT, 2, wide, NULL, chunk)};
  hid_t (*const of[most])(int) = {columns, boxes, chunk_rows, second_columns, blocks};
  for (size_t several = 2; several <= most; ++several) {
    for (int call = 0; call < 4; ++call) {
      const int writing = call % 2 == 0, who = writing ? rank : (rank + 1) % ranks;
      struct Part parts[most];
      for (size_t i = 0; i < several; ++i) {
        const size_t from = rank % 2 ? several - 1 - i : i;
        parts[i] = (struct Part){datasets[from], 20 + 2 * (int)from + call / 2,
                                 of[from](who),  from == 1 ? H5S_ALL : H5S_BLOCK,
                                 NULL,           0};
      }
      if (call >= 2) MPI_Barrier(MPI_COMM_WORLD);
      move(writing, parts, several, H5T_NATIVE_INT, call < 2 ? collective : independent, 1);
      for (size_t i = 0; i < several; ++i) H5Sclose(parts[i].in_file);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  // One of them has a selection that is passed on, and so is the call.
  for (int call = 0; call < 4; ++call) {
    const hid_t transfer = call < 2 ? collective : independent;
    struct Part parts[2] = {{datasets[0], 20, columns(rank), H5S_BLOCK, NULL, 0},
                            {datasets[4], 28, boxes(rank), H5S_BLOCK, NULL, 0}};
    move(call % 2 == 0, parts, 2, H5T_NATIVE_INT, transfer, 0);
    for (int i = 0; i < 2; ++i) H5Sclose(parts[i].in_file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < most; ++i) H5Dclose(datasets[i]);
}

// What HDF5 writes and reads by itself, and what Weir does, is seen by the other one.
static void in_turns(void) {
  const hsize_t wide[] = {20, 64 * (hsize_t)ranks}, chunk[] = {7, 50};
  struct Part part = {
      made("turns", H5T_NATIVE_INT, 2, wide, NULL, chunk), 8, columns(rank), H5S_BLOCK, NULL, 0};
  const hid_t by_itself = H5Pcopy(independent);
  H5Pset_data_transform(by_itself, "x*1");  // passed on
  for (int turn = 0; turn < 2; ++turn) {
    const hid_t how = turn == 0 ? by_itself : independent;
    move(1, &part, 1, H5T_NATIVE_INT, how, turn);
    MPI_Barrier(MPI_COMM_WORLD);
    H5Sclose(part.in_file);
    part.in_file = columns((rank + 1) % ranks);
    move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
    part.number = 9;
    move(1, &part, 1, H5T_NATIVE_INT, collective, 1);
    H5Sclose(part.in_file);
    part.in_file = columns(rank);
    move(0, &part, 1, H5T_NATIVE_INT, how, turn);
  }
  H5Pclose(by_itself);
  // No rank waits for another one.
  if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  move(1, &part, 1, H5T_NATIVE_INT, independent, 1);
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  H5Fset_mpi_atomicity(file, 1);
  move(0, &part, 1, H5T_NATIVE_INT, independent, 0);
  H5Fset_mpi_atomicity(file, 0);
  const hid_t own = part.in_file;
  part.in_file = H5S_ALL;
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  move(1, &part, 1, H5T_NATIVE_INT, collective, ranks == 1);  // all write the same
  H5Sclose(own);
  H5Dclose(part.dataset);
}

// Returns the elements of rank `who` of a line that is divided evenly.
static hid_t share(hsize_t length, int who) {
  const hsize_t each = length / (hsize_t)ranks, start[] = {each * (hsize_t)who}, count[] = {each};
  return slab(1, &length, start, NULL, count, NULL);
}

static void whole_line(hid_t dataset, int number, hsize_t length) {
  for (int call = 0; call < 4; ++call) {
    const int writing = call % 2 == 0;
    struct Part part = {dataset,
                        number + call / 2,
                        share(length, writing ? rank : (rank + 1) % ranks),
                        H5S_BLOCK,
                        NULL,
                        0};
    MPI_Barrier(MPI_COMM_WORLD);
    move(writing, &part, 1, H5T_NATIVE_INT, call < 2 ? independent : collective, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    H5Sclose(part.in_file);
  }
}

// A dataset that grows and shrinks, under two ids. Weir does not write behind its edges: elements
// that appear later have the fill value. It shrinks to whole chunks, since HDF5 1.14.5 alone may
// lose what ranks write to a chunk that is cut.
static void growing(void) {
  const hsize_t n = (hsize_t)ranks, none = 0, chunk = 7, most = H5S_UNLIMITED;
  const hid_t dataset = made("growing", H5T_NATIVE_INT, 1, &none, &most, &chunk);
  const hid_t same = H5Dopen2(file, "growing", H5P_DEFAULT);
  struct Part nobody = {dataset, 10, H5S_ALL, H5S_ALL, NULL, 0};
  move(1, &nobody, 1, H5T_NATIVE_INT, collective, 1);
  const hsize_t lengths[] = {n, 10 * n, 24 * n, 7 * n, 11 * n};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    check(H5Dset_extent(i % 2 ? dataset : same, &lengths[i]) >= 0, "H5Dset_extent");
    whole_line(i % 3 ? dataset : same, 10, lengths[i]);
  }
  const hsize_t longest = 13 * n;
  H5Dset_extent(dataset, &longest);
  int* const elements = malloc(longest * sizeof *elements);
  check(H5Dread(same, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, collective, elements) >= 0, "a read");
  ++taken[1];
  for (hsize_t i = 11 * n; i < longest; ++i) check(elements[i] == 0, "a new element is zero");
  free(elements);
  H5Dclose(same);
  H5Dclose(dataset);
}

// The chunk that is cut stays in HDF5's cache on each rank, which no rank may write over what
// others have written.
static void cutting(const char* path) {
  const hsize_t n = (hsize_t)ranks, longest = 10 * n, chunk = 100 * n, most = H5S_UNLIMITED;
  file = opened(path, 1);
  const hid_t dataset = made("cut", H5T_NATIVE_INT, 1, &longest, &most, &chunk);
  whole_line(dataset, 0, longest);
  for (hsize_t length = 9 * n; length >= 7 * n; length -= n) {
    check(H5Dset_extent(dataset, &length) >= 0, "H5Dset_extent");
    struct Part part = {dataset, 2, share(length, rank), H5S_BLOCK, NULL, 0};
    for (int who = 0; who < ranks; ++who) {  // one rank after the other
      if (who == rank) move(1, &part, 1, H5T_NATIVE_INT, independent, 1);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    H5Sclose(part.in_file);
    part.in_file = share(length, (rank + 1) % ranks);
    move(0, &part, 1, H5T_NATIVE_INT, independent, 1);
    H5Sclose(part.in_file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  H5Dclose(dataset);
  check(H5Fclose(file) >= 0, "H5Fclose");
  file = opened(path, 0);
  const hsize_t length = 7 * n;
  struct Part part = {
      H5Dopen2(file, "cut", H5P_DEFAULT), 2, share(length, rank), H5S_BLOCK, NULL, 0};
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  H5Sclose(part.in_file);
  H5Dclose(part.dataset);
  H5Fclose(file);
}

// More dimensions than Weir has.
static void dimensions(void) {
  hsize_t size[17], chunk[17], start[17] = {0}, count[17];
  for (size_t most = 16; most <= 17; ++most) {
    for (size_t d = 0; d < most; ++d) size[d] = chunk[d] = count[d] = 1;
    size[0] = 2 * (hsize_t)ranks;
    start[0] = 2 * (hsize_t)rank;
    count[0] = 2;
    struct Part part = {
        made(most == 16 ? "most" : "too many", H5T_NATIVE_INT, (int)most, size, NULL, chunk),
        11,
        slab((int)most, size, start, NULL, count, NULL),
        H5S_BLOCK,
        NULL,
        0};
    move(1, &part, 1, H5T_NATIVE_INT, collective, most == 16);
    move(0, &part, 1, H5T_NATIVE_INT, collective, most == 16);
    H5Sclose(part.in_file);
    H5Dclose(part.dataset);
  }
}

// Another program has written a file of which some chunks are not there.
static void make_sparse(const char* path) {
  const hsize_t size[] = {100}, chunk[] = {10}, start[] = {20}, count[] = {30};
  file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  struct Part part = {made("sparse", H5T_NATIVE_INT, 1, size, NULL, chunk),
                      12,
                      slab(1, size, start, NULL, count, NULL),
                      H5S_BLOCK,
                      NULL,
                      0};
  prepare(&part);
  each_element(&part, 0);
  check(H5Dwrite(part.dataset, H5T_NATIVE_INT, H5S_BLOCK, part.in_file, H5P_DEFAULT, part.memory) >=
            0,
        "a serial write");
  free(part.memory);
  H5Sclose(part.in_file);
  H5Dclose(part.dataset);
  H5Fclose(file);
}

static void read_sparse(const char* path) {
  const hsize_t size[] = {100}, start[] = {22}, count[] = {28};
  file = opened(path, 0);
  struct Part part = {H5Dopen2(file, "sparse", H5P_DEFAULT),
                      12,
                      slab(1, size, start, NULL, count, NULL),
                      H5S_BLOCK,
                      NULL,
                      0};
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  move(0, &part, 1, H5T_NATIVE_INT, independent, 1);
  int elements[100];
  for (int i = 0; i < 2; ++i) {
    check(H5Dread(part.dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, i ? collective : independent,
                  elements) >= 0,
          "a read of all");
    ++passed[1];
  }
  check(elements[20] == value(12, 20) && elements[49] == value(12, 49), "what is there is read");
  H5Sclose(part.in_file);
  H5Dclose(part.dataset);
  H5Fclose(file);
}

static void read_again(const char* path) {
  file = opened(path, 0);
  struct Part part = {H5Dopen2(file, "columns", H5P_DEFAULT), 0, columns(rank), H5S_BLOCK, NULL, 0};
  const hid_t by_itself = H5Pcopy(independent);
  H5Pset_data_transform(by_itself, "x*1");
  move(0, &part, 1, H5T_NATIVE_INT, by_itself, 0);  // fills HDF5's cache of chunks
  H5Pclose(by_itself);
  move(0, &part, 1, H5T_NATIVE_INT, independent, 1);
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  H5Sclose(part.in_file);
  H5Dclose(part.dataset);
  check(H5Fclose(file) >= 0, "H5Fclose");
}

// Ranks that read metadata together do not look for chunks alone.
static void read_metadata_together(const char* path) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_all_coll_metadata_ops(access, 1);
  file = H5Fopen(path, H5F_ACC_RDONLY, access);
  H5Pclose(access);
  struct Part part = {H5Dopen2(file, "columns", H5P_DEFAULT), 0, columns(rank), H5S_BLOCK, NULL, 0};
  move(0, &part, 1, H5T_NATIVE_INT, independent, 0);
  move(0, &part, 1, H5T_NATIVE_INT, collective, 1);
  move(0, &part, 1, H5T_NATIVE_INT, independent, 1);
  H5Sclose(part.in_file);
  H5Dclose(part.dataset);
  check(H5Fclose(file) >= 0, "H5Fclose");
}

// Datasets of bytes, one in each chunk, whose chunks HDF5 finds without an index.
static void many_chunks(const char* path) {
  enum { most = 1 << 20 };
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  for (hsize_t chunks = most; chunks <= most + 1; ++chunks) {
    const hsize_t one = 1, start = 10 * (hsize_t)rank, count = 10;
    const hid_t creation = in_chunks(1, &one);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    const hid_t dataset =
        created(chunks == most ? "most" : "too many", H5T_NATIVE_UCHAR, 1, &chunks, creation);
    const hid_t in_file = slab(1, &chunks, &start, NULL, &count, NULL);
    unsigned char bytes[10], found[10];
    for (int i = 0; i < 10; ++i) bytes[i] = (unsigned char)(rank * 10 + i);
    check(H5Dwrite(dataset, H5T_NATIVE_UCHAR, H5S_BLOCK, in_file, collective, bytes) >= 0,
          "a write");
    ++*(chunks == most ? &taken[0] : &passed[0]);
    H5Fflush(file, H5F_SCOPE_GLOBAL);  // gives the file its length
    check(H5Dread(dataset, H5T_NATIVE_UCHAR, H5S_BLOCK, in_file, collective, found) >= 0, "a read");
    ++*(chunks == most ? &taken[1] : &passed[1]);
    check(memcmp(bytes, found, sizeof bytes) == 0, "bytes of many chunks");
    H5Sclose(in_file);
    H5Dclose(dataset);
    H5Pclose(creation);
  }
  H5Fclose(file);
}

int main(int count, char** words) {
  if (count < 2) return 2;
  begin(&count, &words);
  if (count > 2) {
    (strcmp(words[2], "cut") == 0 ? cutting : many_chunks)(words[1]);
    tell_calls();
    return end();
  }
  char* const sparse = malloc(strlen(words[1]) + 8);
  strcpy(sparse, words[1]);
  strcat(sparse, ".sparse");
  if (rank == 0) make_sparse(sparse);
  MPI_Barrier(MPI_COMM_WORLD);
  file = opened(words[1], 1);
  check(file >= 0, "H5Fcreate");
  selections();
  filtered();
  of_several();
  in_turns();
  growing();
  dimensions();
  check(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1, "nothing but the file is open");
  check(H5Fclose(file) >= 0, "H5Fclose");
  read_again(words[1]);
  read_metadata_together(words[1]);
  read_sparse(sparse);
  free(sparse);
  tell_calls();
  return end();
}

// What test programs of the VOL connector share (parts.h).
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

int rank, ranks;
long taken[2], passed[2];
hid_t file, collective, independent;

static int failures;

void check(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "rank %d: %s\n", rank, what);
}

// Returns the places of the selected elements in their order.
static hsize_t* places_of(hid_t space, size_t count) {
  hsize_t* const places = malloc((count + 1) * sizeof *places);
  if (count == 0) return places;
  const hid_t listing = H5Ssel_iter_create(space, 1, 0);
  size_t done = 0;
  while (done < count) {
    hsize_t first[64];
    size_t length[64], blocks = 0, elements = 0;
    if (H5Ssel_iter_get_seq_list(listing, 64, count, &blocks, &elements, first, length) < 0)
      exit(3);
    for (size_t i = 0; i < blocks; ++i) {
      for (size_t j = 0; j < length[i]; ++j) places[done++] = first[i] + j;
    }
  }
  H5Ssel_iter_close(listing);
  return places;
}

int value(int number, hsize_t place) { return 1000000 * (number + 1) + (int)place; }

void each_element(struct Part* part, int compare) {
  const hid_t whole = H5Dget_space(part->dataset);
  const hid_t in_file = part->in_file == H5S_ALL ? whole : part->in_file;
  const size_t count = (size_t)H5Sget_select_npoints(in_file);
  hsize_t* const there = places_of(in_file, count);
  hsize_t* here = NULL;
  if (part->in_memory != H5S_BLOCK) {
    here = places_of(part->in_memory == H5S_ALL ? in_file : part->in_memory, count);
  }
  int wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    int* const element = part->memory + (here ? here[i] : i);
    if (compare) {
      wrong += *element != value(part->number, there[i]);
      *element = -1;
    } else {
      *element = value(part->number, there[i]);
    }
  }
  if (compare) {  // what is not selected is not touched
    for (size_t i = 0; i < part->size; ++i) wrong += part->memory[i] != -1;
  }
  char text[80];
  snprintf(text, sizeof text, "%d wrong elements of dataset %d", wrong, part->number);
  check(wrong == 0, text);
  free(there);
  free(here);
  H5Sclose(whole);
}

void prepare(struct Part* part) {
  const hid_t whole = H5Dget_space(part->dataset);
  const hid_t in_file = part->in_file == H5S_ALL ? whole : part->in_file;
  hssize_t size = H5Sget_select_npoints(in_file);
  if (part->in_memory != H5S_BLOCK) {
    size = H5Sget_simple_extent_npoints(part->in_memory == H5S_ALL ? in_file : part->in_memory);
  }
  part->size = (size_t)size;
  part->memory = malloc((part->size + 1) * sizeof *part->memory);
  for (size_t i = 0; i < part->size; ++i) part->memory[i] = -1;
  H5Sclose(whole);
}

void move(int writing, struct Part* parts, size_t count, hid_t type, hid_t transfer, int is_taken) {
  hid_t datasets[most_together], types[most_together], here[most_together], there[most_together];
  void* memory[most_together];
  for (size_t i = 0; i < count; ++i) {
    prepare(&parts[i]);
    if (writing) each_element(&parts[i], 0);
    datasets[i] = parts[i].dataset;
    types[i] = type;
    here[i] = parts[i].in_memory;
    there[i] = parts[i].in_file;
    memory[i] = parts[i].memory;
  }
  herr_t done = -1;
  if (count == 1 && writing) {
    done = H5Dwrite(datasets[0], type, here[0], there[0], transfer, memory[0]);
  } else if (count == 1) {
    done = H5Dread(datasets[0], type, here[0], there[0], transfer, memory[0]);
  } else if (writing) {
    done = H5Dwrite_multi(count, datasets, types, here, there, transfer, (const void**)memory);
  } else {
    done = H5Dread_multi(count, datasets, types, here, there, transfer, memory);
  }
  check(done >= 0, writing ? "a write failed" : "a read failed");
  ++*(is_taken ? &taken[!writing] : &passed[!writing]);
  for (size_t i = 0; i < count; ++i) {
    if (!writing) each_element(&parts[i], 1);
    free(parts[i].memory);
  }
}

hid_t created(const char* name, hid_t type, int dimensions, const hsize_t* size, hid_t creation) {
  const hid_t space = H5Screate_simple(dimensions, size, NULL);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  check(dataset >= 0, name);
  H5Sclose(space);
  return dataset;
}

hid_t slab(int dimensions, const hsize_t* size, const hsize_t* start, const hsize_t* stride,
           const hsize_t* count, const hsize_t* block) {
  const hid_t space = H5Screate_simple(dimensions, size, NULL);
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block) >= 0, "a slab");
  return space;
}

void add_box(hid_t space, hsize_t row, hsize_t column, hsize_t rows, hsize_t columns) {
  const hsize_t start[] = {row, column}, count[] = {rows, columns};
  check(H5Sselect_hyperslab(space, H5S_SELECT_OR, start, NULL, count, NULL) >= 0, "a box");
}

hid_t nothing(int dimensions, const hsize_t* size) {
  const hid_t space = H5Screate_simple(dimensions, size, NULL);
  H5Sselect_none(space);
  return space;
}

void round_trip(hid_t dataset, int number, hid_t (*of)(int), hid_t in_memory, int is_taken) {
  struct Part part = {dataset, number, of(rank), in_memory, NULL, 0};
  move(1, &part, 1, H5T_NATIVE_INT, collective, is_taken);
  H5Sclose(part.in_file);
  part.in_file = of((rank + 1) % ranks);
  move(0, &part, 1, H5T_NATIVE_INT, collective, is_taken);
  H5Sclose(part.in_file);
}

void alone(hid_t dataset, int number, hid_t (*of)(int), hid_t in_memory, int is_taken) {
  for (int writing = 1; writing >= 0; --writing) {
    struct Part part = {dataset,   number, of(writing ? rank : (rank + 1) % ranks),
                        in_memory, NULL,   0};
    move(writing, &part, 1, H5T_NATIVE_INT, independent, is_taken);
    MPI_Barrier(MPI_COMM_WORLD);
    H5Sclose(part.in_file);
  }
}

hid_t opened(const char* path, int create) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t made = H5I_INVALID_HID;
  if (create) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, 512);
    made = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    H5Pclose(creation);
  } else {
    made = H5Fopen(path, H5F_ACC_RDONLY, access);
  }
  H5Pclose(access);
  return made;
}

void begin(int* count, char*** words) {
  MPI_Init(count, words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  collective = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
  independent = H5Pcreate(H5P_DATASET_XFER);
}

void tell_calls(void) {
  if (rank != 0) return;
  printf("writes %ld taken %ld passed reads %ld taken %ld passed\n", taken[0], passed[0], taken[1],
         passed[1]);
}

int end(void) {
  H5Pclose(collective);
  H5Pclose(independent);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}

// The test programs of the VOL connector share parts of datasets, of which every element has the
// value that belongs to its place, and calls that move them.
#pragma once

#include <mpi.h>
// After <mpi.h>, as HDF5 has it.
#include <hdf5.h>
#include <stddef.h>

enum { most_together = 8 };

extern int rank, ranks;
// Calls that write, and calls that read, which Weir should take over, or pass on.
extern long taken[2], passed[2];
extern hid_t file, collective, independent;

// Called first and last. The latter returns the exit status.
void begin(int* count, char*** words);
int end(void);
// Prints the numbers of calls.
void tell_calls(void);
// A check that does not hold is reported, and changes the exit status.
void check(int holds, const char* what);

// A dataset and what this rank moves of it.
struct Part {
  hid_t dataset;
  int number;
  hid_t in_file;    // H5S_ALL, or a dataspace
  hid_t in_memory;  // H5S_ALL, H5S_BLOCK, or a dataspace
  int* memory;
  size_t size;  // of the memory, in elements
};

// Returns the value that belongs to a place of a dataset.
int value(int number, hsize_t place);
// Allocates the memory.
void prepare(struct Part* part);
// Fills the memory with what belongs into the file, or compares it.
void each_element(struct Part* part, int compare);
// Moves parts by one call. `type` is that of the memory.
void move(int writing, struct Part* parts, size_t count, hid_t type, hid_t transfer, int is_taken);
// Writes as rank `rank`, and reads as the next one: once Weir has written, others read its bytes.
void round_trip(hid_t dataset, int number, hid_t (*of)(int), hid_t in_memory, int is_taken);
// Does so by independent calls.
void alone(hid_t dataset, int number, hid_t (*of)(int), hid_t in_memory, int is_taken);

// Creates a file for all ranks, or opens it for reading.
hid_t opened(const char* path, int create);
hid_t created(const char* name, hid_t type, int dimensions, const hsize_t* size, hid_t creation);

// Return a dataspace of this size in which a box with strides, or nothing, is selected.
hid_t slab(int dimensions, const hsize_t* size, const hsize_t* start, const hsize_t* stride,
           const hsize_t* count, const hsize_t* block);
hid_t nothing(int dimensions, const hsize_t* size);
// Adds a box to the selection of a dataspace of two dimensions.
void add_box(hid_t space, hsize_t row, hsize_t column, hsize_t rows, hsize_t columns);

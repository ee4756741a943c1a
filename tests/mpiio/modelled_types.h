/* Datatypes, each with a list of its bytes that follows from the standard's definition of its
 * constructor alone. A constructor frees the datatype `old` from which it makes another one. */
#pragma once

#include <mpi.h>
#include <stdint.h>

/* A datatype, and where its bytes are in the order of its typemap. */
struct Type {
  MPI_Datatype mpi;
  int64_t* at;
  int bytes;
  int64_t lower;
  int64_t upper;
};

int64_t extent(const struct Type* type);
/* Returns the number of bytes from the first to the last one, holes included. */
int64_t span(const struct Type* type);
void free_type(struct Type* type);

/* A number of 1, 2, 4 or 8 bytes. */
struct Type basic(int bytes);
struct Type resized(struct Type old, int64_t lower, int64_t length);
struct Type duplicate(struct Type old);
struct Type contiguous(int count, struct Type old);
/* `by_elements`: the stride is in elements, else in bytes. */
struct Type vector(int count, int length, int64_t stride, int by_elements, struct Type old);

enum { most_blocks = 600 };
struct Blocks {
  int count;
  int lengths[most_blocks];
  int places[most_blocks];
};

enum Indexing { by_index, by_bytes, of_one_length, by_structure, indexings };

struct Type indexed(enum Indexing kind, const struct Blocks* blocks, struct Type old);
struct Type subarray(int dimensions, const int* sizes, const int* parts, const int* starts,
                     int order, struct Type old);
/* The part of `process` in an array of two dimensions that a grid of processes shares. */
struct Type darray(int process, int processes, const int* sizes, const int* distributions,
                   const int* arguments, const int* grid, int order, struct Type old);

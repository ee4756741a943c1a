#include "modelled_types.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

static struct Type empty_type(int bytes) {
  const struct Type type = {MPI_DATATYPE_NULL, calloc((size_t)bytes + 1, sizeof(int64_t)), 0, 0, 0};
  if (type.at == NULL) MPI_Abort(MPI_COMM_WORLD, 9);
  return type;
}

int64_t extent(const struct Type* type) { return type->upper - type->lower; }

static void place(struct Type* type, const struct Type* old, int64_t displacement) {
  const int64_t lower = old->lower + displacement;
  const int64_t upper = old->upper + displacement;
  if (type->bytes == 0 || lower < type->lower) type->lower = lower;
  if (type->bytes == 0 || upper > type->upper) type->upper = upper;
  for (int i = 0; i < old->bytes; ++i) type->at[type->bytes++] = old->at[i] + displacement;
}

void free_type(struct Type* type) {
  free(type->at);
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  MPI_Type_get_envelope(type->mpi, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&type->mpi);
}

struct Type basic(int bytes) {
  struct Type type = empty_type(bytes);
  type.mpi = bytes == 1 ? MPI_CHAR : bytes == 2 ? MPI_SHORT : bytes == 4 ? MPI_INT : MPI_DOUBLE;
  for (int i = 0; i < bytes; ++i) type.at[type.bytes++] = i;
  type.upper = bytes;
  return type;
}

struct Type resized(struct Type old, int64_t lower, int64_t length) {
  struct Type type = old;
  MPI_Type_create_resized(old.mpi, lower, length, &type.mpi);
  type.lower = lower;
  type.upper = lower + length;
  old.at = NULL;
  free_type(&old);
  return type;
}

struct Type duplicate(struct Type old) {
  struct Type type = old;
  MPI_Type_dup(old.mpi, &type.mpi);
  old.at = NULL;
  free_type(&old);
  return type;
}

struct Type contiguous(int count, struct Type old) {
  struct Type type = empty_type(count * old.bytes);
  MPI_Type_contiguous(count, old.mpi, &type.mpi);
  for (int i = 0; i < count; ++i) place(&type, &old, i * extent(&old));
  free_type(&old);
  return type;
}

struct Type vector(int count, int length, int64_t stride, int by_elements, struct Type old) {
  struct Type type = empty_type(count * length * old.bytes);
  if (by_elements) {
    MPI_Type_vector(count, length, (int)stride, old.mpi, &type.mpi);
  } else {
    MPI_Type_create_hvector(count, length, stride, old.mpi, &type.mpi);
  }
  const int64_t distance = by_elements ? stride * extent(&old) : stride;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < length; ++j) place(&type, &old, i * distance + j * extent(&old));
  }
  free_type(&old);
  return type;
}

struct Type indexed(enum Indexing kind, const struct Blocks* blocks, struct Type old) {
  int total = 0;
  MPI_Aint bytes[most_blocks];
  MPI_Datatype types[most_blocks];
  for (int i = 0; i < blocks->count; ++i) {
    total += blocks->lengths[i];
    bytes[i] = blocks->places[i] * extent(&old);
    types[i] = old.mpi;
  }
  struct Type type = empty_type(total * old.bytes);
  switch (kind) {
    case by_index:
      MPI_Type_indexed(blocks->count, blocks->lengths, blocks->places, old.mpi, &type.mpi);
      break;
    case by_bytes:
      MPI_Type_create_hindexed(blocks->count, blocks->lengths, bytes, old.mpi, &type.mpi);
      break;
    case of_one_length:
      MPI_Type_create_indexed_block(blocks->count, blocks->lengths[0], blocks->places, old.mpi,
                                    &type.mpi);
      break;
    default:
      MPI_Type_create_struct(blocks->count, blocks->lengths, bytes, types, &type.mpi);
      break;
  }
  for (int i = 0; i < blocks->count; ++i) {
    for (int j = 0; j < blocks->lengths[i]; ++j) {
      place(&type, &old, (blocks->places[i] + j) * extent(&old));
    }
  }
  free_type(&old);
  return type;
}

struct Type subarray(int dimensions, const int* sizes, const int* parts, const int* starts,
                     int order, struct Type old) {
  int total = 1;
  int64_t all = 1;
  for (int d = 0; d < dimensions; ++d) {
    total *= parts[d];
    all *= sizes[d];
  }
  struct Type type = empty_type(total * old.bytes);
  MPI_Type_create_subarray(dimensions, sizes, parts, starts, order, old.mpi, &type.mpi);
  for (int i = 0; i < total; ++i) {
    int left = i;
    int64_t number = 0;
    int64_t stride = 1;
    for (int k = 0; k < dimensions; ++k) {
      const int d = order == MPI_ORDER_FORTRAN ? k : dimensions - 1 - k;
      number += (starts[d] + left % parts[d]) * stride;
      left /= parts[d];
      stride *= sizes[d];
    }
    place(&type, &old, number * extent(&old));
  }
  type.lower = 0;
  type.upper = all * extent(&old);
  free_type(&old);
  return type;
}

static int is_mine(int index, int size, int distribution, int argument, int processes, int own) {
  if (distribution == MPI_DISTRIBUTE_NONE) return 1;
  if (distribution == MPI_DISTRIBUTE_BLOCK) {
    const int block =
        argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes : argument;
    return index / block == own;
  }
  const int block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
  return index / block % processes == own;
}

struct Type darray(int process, int processes, const int* sizes, const int* distributions,
                   const int* arguments, const int* grid, int order, struct Type old) {
  const int total = sizes[0] * sizes[1];
  const int own[] = {process / grid[1], process % grid[1]};
  struct Type type = empty_type(total * old.bytes);
  MPI_Type_create_darray(processes, process, 2, sizes, distributions, arguments, grid, order,
                         old.mpi, &type.mpi);
  const int fastest = order == MPI_ORDER_FORTRAN ? 0 : 1;
  for (int i = 0; i < total; ++i) {
    int index[2];
    index[fastest] = i % sizes[fastest];
    index[1 - fastest] = i / sizes[fastest];
    int mine = 1;
    for (int d = 0; d < 2; ++d) {
      mine = mine && is_mine(index[d], sizes[d], distributions[d], arguments[d], grid[d], own[d]);
    }
    if (mine) place(&type, &old, i * extent(&old));
  }
  type.lower = 0;
  type.upper = total * extent(&old);
  free_type(&old);
  return type;
}

int64_t span(const struct Type* type) {
  int64_t first = INT64_MAX;
  int64_t end = INT64_MIN;
  for (int i = 0; i < type->bytes; ++i) {
    if (type->at[i] < first) first = type->at[i];
    if (type->at[i] >= end) end = type->at[i] + 1;
  }
  return type->bytes == 0 ? 0 : end - first;
}

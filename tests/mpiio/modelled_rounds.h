/* Random datatypes, views and parts of calls of MPI-IO, which all ranks draw alike. */
#pragma once

#include <stdint.h>

#include "modelled_types.h"

enum { most_ranks = 8, most_bytes = 1 << 21, memory_origin = 1 << 16 };

struct View {
  int64_t displacement;
  struct Type type;
  int element_bytes;
};

struct Round {
  int basic_bytes;
  int leaf_kind;
  int is_shared; /* all ranks see the same bytes */
  int is_external;
  struct View views[most_ranks];
};

/* What one rank moves. */
struct Part {
  struct Type memory;
  int count;
  int64_t offset; /* in elements of its view */
};

/* Every rank draws the same numbers from then on. */
void begin_drawing(uint64_t seed, int ranks, int only_collective);
/* Draws a number from `low` to `high`. */
int between(int low, int high);
/* Draws the views of all ranks. */
struct Round random_round(void);
void free_round(struct Round* round);
/* Returns the element of the views. */
struct Type leaf_of(const struct Round* round);
/* Draws what rank `r` moves in a call; its datatype is committed. */
struct Part random_part(const struct Round* round, int r);
int64_t bytes_of(const struct Part* part);
/* Where byte `number` of the memory is, from the buffer on. */
int64_t in_memory(const struct Part* part, int64_t number);
/* Where byte `number` of a call is in the file. */
int64_t in_file(const struct View* view, const struct Part* part, int64_t number);

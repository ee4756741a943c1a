#include "modelled_rounds.h"

#include <mpi.h>
#include <string.h>

static uint64_t state;
static int ranks;
static int only_collective;

void begin_drawing(uint64_t seed, int ranks_of_job, int is_only_collective) {
  state = seed;
  ranks = ranks_of_job;
  only_collective = is_only_collective;
}

int between(int low, int high) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return low + (int)((state >> 33U) % (uint64_t)(high - low + 1));
}

/* A datatype of a view, whose bytes ascend, by random construction. */
static struct Type ascending(int nested, struct Type leaf) {
  const int64_t unit = extent(&leaf);
  struct Type old = nested > 0 ? ascending(nested - 1, leaf) : leaf;
  switch (between(0, 6)) {
    case 0:
      return contiguous(between(1, 3), old);
    case 1: {
      const int length = between(1, 2);
      return vector(between(1, 3), length, length + between(0, 2), 1, old);
    }
    case 2: {
      const int length = between(1, 2);
      const int64_t least = (length - 1) * extent(&old) + span(&old);
      return vector(between(1, 3), length, (least + unit - 1) / unit * unit + unit * between(0, 3),
                    0, old);
    }
    case 3: {
      const int64_t before = unit * between(0, 2); /* the lower bound may be negative */
      const int64_t length = (span(&old) + unit - 1) / unit * unit + unit * between(0, 2);
      return resized(old, between(0, 1) ? -before : 0, length);
    }
    case 4:
      return duplicate(old);
    default: {
      struct Blocks blocks;
      blocks.count = between(1, 4);
      const int kind = between(0, indexings - 1);
      const int each = between(1, 2);
      int end = 0;
      for (int i = 0; i < blocks.count; ++i) {
        blocks.lengths[i] = kind == of_one_length ? each : between(1, 3);
        blocks.places[i] = end + between(0, 2);
        end = blocks.places[i] + blocks.lengths[i];
      }
      return indexed((enum Indexing)kind, &blocks, old);
    }
  }
}

/* The views below show each rank other bytes of a file of units. */
static struct Type own_subarray(int r, struct Type leaf) {
  const int order = between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const int rim = between(0, 1);
  const int width = between(1, 4);
  const int sizes[] = {between(1, 4) + 2 * rim, width * ranks + 2 * rim, between(1, 6) + 2 * rim};
  const int parts[] = {sizes[0] - 2 * rim, width, sizes[2] - 2 * rim};
  const int starts[] = {rim, rim + r * width, rim};
  return subarray(3, sizes, parts, starts, order, leaf);
}

static struct Type own_darray(int r, struct Type leaf) {
  const int block = between(1, 3);
  const int kind = between(0, 2);
  const int order = between(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  const int distribution[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
  const int argument[] = {MPI_DISTRIBUTE_DFLT_DARG, block, MPI_DISTRIBUTE_DFLT_DARG};
  const int along = between(0, 1);
  int sizes[2];
  int distributions[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_NONE};
  int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  int grid[] = {1, 1};
  sizes[1 - along] = between(1, 4);
  sizes[along] = ranks * block * between(1, 4) + (kind > 0 ? between(0, 1) : 0);
  distributions[along] = distribution[kind];
  arguments[along] = argument[kind];
  grid[along] = ranks;
  if (ranks == 4 && between(0, 1)) { /* both dimensions are distributed */
    grid[0] = 2;
    grid[1] = 2;
    sizes[1 - along] = 2 * between(1, 3);
    distributions[1 - along] = MPI_DISTRIBUTE_BLOCK;
  }
  return darray(r, ranks, sizes, distributions, arguments, grid, order, leaf);
}

static struct Type own_blocks(int r, struct Type leaf) {
  struct Blocks blocks;
  const int64_t unit = extent(&leaf);
  const int each = between(1, 3);
  const int is_regular = between(0, 1);
  const int kind = between(0, indexings - 1);
  int end = 0;
  blocks.count = between(1, 3);
  for (int i = 0; i < blocks.count; ++i) {
    blocks.lengths[i] = each;
    blocks.places[i] = end + r * each;
    end += ranks * each + (is_regular ? ranks * each : between(0, 3));
  }
  return resized(indexed((enum Indexing)kind, &blocks, leaf), 0, end * unit);
}

/* Columns, in planes that are at a distance of their own. */
static struct Type own_columns(int width, struct Type leaf) {
  const int rows = between(1, 4);
  const int64_t unit = extent(&leaf);
  const int64_t plane = rows * ranks * width * unit;
  const int64_t distance = plane + (between(0, 2) == 0 ? unit * between(1, 3) : plane);
  const int planes = between(1, 3);
  struct Type row = vector(rows, width, ranks * width, 1, leaf);
  return resized(vector(planes, 1, distance, 0, row), 0, planes * distance);
}

/* Blocks of which no two are alike, and which the ranks have one after the other: of one datatype,
 * or of several in a structure. */
static struct Type own_irregular(int r, struct Type leaf) {
  const int64_t unit = extent(&leaf);
  const int kind = between(0, indexings - 1);
  const int each = between(1, 3);
  struct Blocks blocks;
  struct Type old = between(0, 1) ? leaf : vector(2, 1, 2, 1, leaf);
  int end = 0;
  blocks.count = between(3, 150);
  for (int i = 0; i < blocks.count; ++i) {
    for (int rank_of_block = 0; rank_of_block < ranks; ++rank_of_block) {
      const int length = kind == of_one_length ? each : between(1, 4);
      const int gap = between(0, 2);
      if (rank_of_block == r) {
        blocks.places[i] = end + gap;
        blocks.lengths[i] = length;
      }
      end += gap + length;
    }
  }
  const int64_t width = extent(&old);
  struct Type all = indexed((enum Indexing)kind, &blocks, old);
  return resized(all, 0, end * width + unit * between(0, 2));
}

struct Type leaf_of(const struct Round* round) {
  struct Type type = basic(round->basic_bytes);
  if (round->leaf_kind == 1) return contiguous(2, type);
  if (round->leaf_kind == 2) return resized(type, 0, 2L * round->basic_bytes);
  return type;
}

/* Rank r's view; the state is the same for all ranks. */
static struct View view_of(const struct Round* round, int kind, int displacement, int r) {
  struct Type leaf = leaf_of(round);
  const int64_t unit = extent(&leaf);
  struct View view = {displacement * unit, {MPI_DATATYPE_NULL, NULL, 0, 0, 0}, leaf.bytes};
  const int width = between(1, 4);
  switch (kind) {
    case 0:
    case 1:
      view.type = own_subarray(r, leaf);
      break;
    case 2:
    case 3:
      view.type = own_darray(r, leaf);
      break;
    case 4:
      view.type = own_blocks(r, leaf);
      break;
    case 5:
      view.type = contiguous(width, leaf);
      break;
    case 6: /* any datatype, of which the ranks have one after the other */
      view.type = ascending(between(0, 2), leaf);
      {
        const int64_t each = (span(&view.type) + unit - 1) / unit * unit;
        view.displacement += r * each;
        view.type = resized(view.type, 0, ranks * each + unit * between(0, 2));
      }
      break;
    case 7: /* each rank has another one, and they overlap */
      for (int i = 0; i < r; ++i) (void)between(0, 1);
      view.type = ascending(between(0, 2), leaf);
      break;
    case 11:
    case 12:
    case 13:
      view.type = own_irregular(r, leaf);
      break;
    default:
      view.type = own_columns(width, leaf);
      view.displacement += r * width * unit;
      break;
  }
  return view;
}

struct Round random_round(void) {
  struct Round round;
  memset(&round, 0, sizeof round);
  const int sizes[] = {1, 2, 4, 4, 8};
  round.basic_bytes = sizes[between(0, 4)];
  round.leaf_kind = between(0, 4);
  const int kind = between(0, only_collective ? 10 : 13);
  const int displacement = between(0, 50);
  round.is_shared = kind == 5;
  round.is_external = !only_collective && between(0, 15) == 0;
  const uint64_t before = state;
  for (int r = 0; r < ranks; ++r) {
    state = before;
    round.views[r] = view_of(&round, kind, displacement, r);
  }
  state = before;
  (void)between(0, 1);
  return round;
}

void free_round(struct Round* round) {
  for (int r = 0; r < ranks; ++r) free_type(&round->views[r].type);
}

int64_t bytes_of(const struct Part* part) { return (int64_t)part->count * part->memory.bytes; }

int64_t in_memory(const struct Part* part, int64_t number) {
  return memory_origin + number / part->memory.bytes * extent(&part->memory) +
         part->memory.at[number % part->memory.bytes];
}

int64_t in_file(const struct View* view, const struct Part* part, int64_t number) {
  number += part->offset * view->element_bytes;
  return view->displacement + number / view->type.bytes * extent(&view->type) +
         view->type.at[number % view->type.bytes];
}

/* Memory whose blocks are in any order, with gaps. */
static struct Type shuffled(int elements, struct Type leaf) {
  struct Blocks blocks;
  blocks.count = elements;
  for (int i = 0; i < elements; ++i) {
    const int other = between(0, i);
    blocks.lengths[i] = 1;
    blocks.places[i] = blocks.places[other];
    blocks.places[other] = 2 * i;
    if (other == i) blocks.places[i] = 2 * i;
  }
  return indexed((enum Indexing)between(0, indexings - 1), &blocks, leaf);
}

struct Part random_part(const struct Round* round, int r) {
  struct Part part;
  const int in_element = round->views[r].element_bytes / round->basic_bytes;
  const int largest = between(0, 3) == 0 ? 600 : 60;
  const int elements = between(0, 4) == 0 ? 0 : between(1, largest / in_element) * in_element;
  const struct Type leaf = basic(round->basic_bytes);
  part.count = elements;
  switch (between(0, 7)) {
    case 0:
      part.memory = vector(elements, 1, 2, 1, leaf);
      part.count = 1;
      break;
    case 1:
      part.memory = resized(leaf, 0, 3L * round->basic_bytes);
      break;
    case 2: /* begins before the buffer */
      part.memory = vector(1, 1, 1, 1, resized(leaf, -round->basic_bytes, 2L * round->basic_bytes));
      break;
    case 3:
      part.memory = shuffled(elements > 100 ? 100 * in_element : elements, leaf);
      part.count = elements > 0 ? 1 : 0;
      break;
    case 4: {
      struct Blocks backward = {2, {1, 1}, {0, -3}};
      part.memory = indexed(by_index, &backward, leaf);
      part.count = elements / (2 * in_element) * in_element;
      break;
    }
    default:
      part.memory = contiguous(1, leaf);
      break;
  }
  part.offset = between(0, 60) + (round->is_shared ? r * 700 : 0);
  if (part.memory.bytes == 0 || round->views[r].type.bytes == 0) part.count = 0;
  const int64_t last = bytes_of(&part) - 1;
  if (last >= 0 && in_file(&round->views[r], &part, last) >= most_bytes / 2) part.count = 0;
  MPI_Type_commit(&part.memory.mpi);
  return part;
}

// The change of an array's map when its file gets room for another step. Messages about the change,
// and the code that keeps the map, handle only what is new.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "stored/extent_map.hpp"

namespace weir::storage {

// The array does not change.
struct ArrayKept {};

// The array now has this many steps. Its chunks from `from_chunk` on have new places, or have got
// places; the chunks before are unchanged.
struct ArrayGrown {
  std::int64_t steps = 0;
  // NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
  array::Indices chunk_extents = {};  // extents of the grid's chunks; empty: no chunks
  std::int64_t from_chunk = 0;
  std::vector<ChunkTable::Run> runs = {};  // numbered from from_chunk on; only with a chunk table
  std::vector<EncodedTable::Entry> entries = {};  // places of encoded chunks, numbered as in the
                                                  // array
  // NOLINTEND(readability-redundant-member-init)

  friend bool operator==(const ArrayGrown&, const ArrayGrown&) = default;
};

// The array has a new map.
struct ArrayMoved {
  ExtentMap map{.shape = array::Shape::create({0}).value(),
                .type = {},
                .files = DataFiles::one(""),
                .extents = {}};
};

using ArrayChange = std::variant<ArrayKept, ArrayGrown, ArrayMoved>;

// Returns the change that turns `before` into `after`. If the maps are otherwise alike, the chunks
// of the first `steps` steps are assumed, without a check, to have the same places in both.
[[nodiscard]] ArrayChange change_of(const ExtentMap& before, const ExtentMap& after, bool grows,
                                    std::int64_t steps);
void apply(const ArrayChange& change, ExtentMap& map);

// Returns how many chunks of a grid contain, wholly or in part, the first `steps` steps along
// dimension 0.
[[nodiscard]] std::int64_t chunks_of_steps(const array::ChunkGrid& grid, std::int64_t steps);

// Returns the shape of an array with another number of steps along dimension 0. Fails as
// array::Shape::create() does.
[[nodiscard]] Result<array::Shape> with_steps(const array::Shape& shape, std::int64_t steps);

}  // namespace weir::storage

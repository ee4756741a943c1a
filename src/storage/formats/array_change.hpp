// What changes in the map of an array when its file gets room for a step more: in the message that
// tells it, and in whoever keeps the map, only what is new.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "storage/formats/extent_map.hpp"

namespace weir::storage {

// The array stays as it is.
struct ArrayKept {};

// The array has so many steps, and its chunks from a number on have other places, or got some. What
// comes before is as it was.
struct ArrayGrown {
  std::int64_t steps = 0;
  // NOLINTBEGIN(readability-redundant-member-init): fields that may be left out
  array::Indices chunk_extents = {};  // of the grid; none: the array is not in chunks
  std::int64_t from_chunk = 0;
  std::vector<ChunkTable::Run> runs = {};  // numbered from from_chunk on, where there is a table
  std::vector<EncodedTable::Entry> entries = {};  // of encoded chunks, numbered as in the array
  // NOLINTEND(readability-redundant-member-init)

  friend bool operator==(const ArrayGrown&, const ArrayGrown&) = default;
};

// The map is another one.
struct ArrayMoved {
  ExtentMap map{.shape = array::Shape::create({0}).value(),
                .type = {},
                .files = DataFiles::one(""),
                .extents = {}};
};

using ArrayChange = std::variant<ArrayKept, ArrayGrown, ArrayMoved>;

// By what `before` becomes `after`. Places of the chunks of the first `steps` steps are the same in
// both, which is not looked at, where the rest of the maps is alike.
[[nodiscard]] ArrayChange change_of(const ExtentMap& before, const ExtentMap& after, bool grows,
                                    std::int64_t steps);
void apply(const ArrayChange& change, ExtentMap& map);

// How many chunks of a grid the first `steps` steps along dimension 0 are in, wholly or in part.
[[nodiscard]] std::int64_t chunks_of_steps(const array::ChunkGrid& grid, std::int64_t steps);

}  // namespace weir::storage

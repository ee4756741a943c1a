// Tables of the places of chunks, stored once on each node if they are large, in memory that its
// ranks share: a rank that moves few chunks keeps no places of the others.
//
// When a file is opened, its large tables are sent to one rank of each node only, directly into
// that memory. Tables that grow later are built by all ranks from the same messages, and are moved
// to such memory when enough has been added.
#pragma once

#include <cstddef>

#include "aggregation/collective_state.hpp"
#include "array/word_blocks.hpp"
#include "common/status.hpp"
#include "stored/extent_map.hpp"
#include "stored/file_map.hpp"

namespace weir::aggregation {

// If there are fewer words, every rank keeps its own places, since sharing takes a mapping.
inline constexpr std::size_t least_shared_words = std::size_t{1} << 15U;

// Returns the blocks of the table that has the places of an array's chunks; null if they are in
// closed form.
[[nodiscard]] array::WordBlocks* table_of_places(storage::ExtentMap& map);
// Returns the size, in words, of the file's tables that are in this process's own memory.
[[nodiscard]] std::size_t own_table_words(storage::FileMap& map);

// Both functions are collective. If a node has too little memory to share, every rank keeps its own
// places.

// Fills the tables of `map`, which has them on rank 0. The others have a map from a message without
// tables (formats/file_map_message.hpp).
[[nodiscard]] Status receive_tables(CollectiveState& state, storage::FileMap& map);
// Moves what all ranks have of the tables in their own memory, if there are enough words of it, and
// returns whether it did.
[[nodiscard]] Result<bool> share_tables(CollectiveState& state, storage::FileMap& map);

}  // namespace weir::aggregation

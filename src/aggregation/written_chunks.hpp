// The encoded chunks of a step whose places are in a table. Aggregators write them after the file's
// end, each into regions of its own (sections/file_space_allocator.hpp). At the end of a step the
// ranks report the places to rank 0, the commit lets readers find them, and all ranks get the new
// tables (shared_tables.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective_state.hpp"
#include "common/status.hpp"
#include "formats/format.hpp"
#include "stored/file_map.hpp"

namespace weir::aggregation {

// Returns the table of an array's encoded chunks; null if they are separate files or in shards, or
// if there are none.
[[nodiscard]] storage::EncodedTable* chunk_table_of(storage::ExtentMap& map);

// Collective. Gives this rank the regions of the file at `path` into which it writes encoded chunks
// in the step that begins, and tells where a stager writes those that it encodes. They lie behind
// `free_from`, which matters on rank 0. `step`: a number of the session.
[[nodiscard]] Status give_places(CollectiveState& state, OpenArrays arrays, const std::string& path,
                                 std::int64_t free_from, std::uint64_t step);
// Collective. Moves the places of chunks that all ranks know into memory that the ranks of each
// node share, if there are many.
[[nodiscard]] Status share_places(CollectiveState& state, storage::FileMap& map, OpenArrays arrays);

class WrittenChunks {
 public:
  // `map` has the arrays in their order. Both must outlive this.
  WrittenChunks(storage::FileMap& map, OpenArrays arrays) : map_(map), arrays_(arrays) {}

  // Takes the chunks that this rank wrote.
  [[nodiscard]] Status take_own();
  // Collective. Replaces this rank's chunks by those of all ranks, on rank 0.
  [[nodiscard]] Status gather(CollectiveState& state);
  // Called by rank 0: enters the chunks in the update that commits the step of the file at `path`,
  // which then has this many steps.
  [[nodiscard]] Status enter(const storage::Format& format, const std::string& path, int ranks,
                             std::int64_t steps, storage::Room& room);
  // Collective. Enters the chunks of all ranks, which rank 0 has, in the tables of every rank.
  [[nodiscard]] Status tell(CollectiveState& state);

 private:
  void enter_places(std::string_view part);

  storage::FileMap& map_;
  OpenArrays arrays_;
  // Six numbers for each chunk and, until enter() compares them, six with the totals of each rank.
  std::vector<std::int64_t> numbers_;
};

}  // namespace weir::aggregation

// The places of an array's chunks in files: in closed form (slots, shards), or in a table of the
// answers of a file format's library.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "array/chunk_grid.hpp"
#include "array/declustering.hpp"
#include "array/per_dimension.hpp"
#include "array/word_blocks.hpp"

namespace weir::array {

struct ChunkPlace {
  std::int64_t file = 0;
  std::int64_t offset = 0;  // bytes from the start of the file

  friend bool operator==(const ChunkPlace&, const ChunkPlace&) = default;
};

// Chunk c lies in slot ⌊c / files⌋ of one file: file c mod files if `turn` is 0, otherwise the file
// that Declustering assigns.
struct SlotsInTurn {
  std::int64_t files = 1;
  std::int64_t offset = 0;  // offset of the first slot in each file
  std::int64_t slot_bytes = 0;
  std::uint64_t turn = 0;  // Declustering::turn_per_group()

  [[nodiscard]] ChunkPlace place_of(std::int64_t chunk) const {
    return {Declustering::turning(files, turn).holder(chunk), offset + chunk / files * slot_bytes};
  }
  friend bool operator==(const SlotsInTurn&, const SlotsInTurn&) = default;
};

// Each box of `chunks_per_shard` chunks is one file. The chunks inside it are in row-major order. A
// shard at the array's upper edge also has slots for chunks that do not exist.
struct ShardSlots {
  Indices chunks_per_shard;
  Indices shards;  // number of shards along each dimension
  std::int64_t offset = 0;
  std::int64_t slot_bytes = 0;

  [[nodiscard]] ChunkPlace place_of(const Indices& chunk) const;
  friend bool operator==(const ShardSlots&, const ShardSlots&) = default;
};

// A table of the places that a library reported chunk by chunk. Chunks with consecutive numbers at
// equal distances in the file form one run. This is the usual case with early allocation.
//
// A file may have millions of chunks that lie in any order, and several parts of a program may have
// the table of the same array. Runs are therefore kept in blocks (word_blocks.hpp), which copies
// and parts of a table share.
class ChunkTable {
 public:
  struct Run {
    std::int64_t first = 0;
    std::int64_t chunks = 1;
    ChunkPlace place;           // place of the first chunk
    std::int64_t distance = 0;  // bytes between the starts of two chunks; 0 for one chunk

    friend bool operator==(const Run&, const Run&) = default;
  };

  // Adds a chunk to runs of earlier chunks.
  static void add(std::vector<Run>& runs, std::int64_t chunk, const ChunkPlace& place);

  // Makes a table from runs, which ascend and do not overlap.
  static ChunkTable of(const std::vector<Run>& runs);
  // Adds a chunk after all others. Chunks that are not added are not in the file. This copies a
  // block; append() adds many chunks faster.
  void add(std::int64_t chunk, const ChunkPlace& place);
  // Adds the chunks of these runs; their chunk 0 becomes chunk `first`. All chunks of this table
  // come before them.
  void append(const std::vector<Run>& runs, std::int64_t first);
  // Removes `chunk` and all later chunks from the table.
  void cut(std::int64_t chunk);

  [[nodiscard]] std::optional<ChunkPlace> place_of(std::int64_t chunk) const;
  // Returns how many chunks are in the file.
  [[nodiscard]] std::int64_t size() const;
  // Returns the largest number of a file that has chunks, plus 1; at least 1.
  [[nodiscard]] std::int64_t files() const;
  [[nodiscard]] std::optional<Run> first_run() const;
  [[nodiscard]] std::vector<Run> runs() const;
  // Returns a table of the chunks first <= c < first + chunks, numbered from 0, whose places are
  // `offset` bytes further in the file.
  [[nodiscard]] ChunkTable part(std::int64_t first, std::int64_t chunks,
                                std::int64_t offset = 0) const;

  // Returns the blocks, for processes that keep them once. The blocks of a part are those of the
  // whole table.
  [[nodiscard]] const WordBlocks& blocks() const { return blocks_; }
  [[nodiscard]] WordBlocks& blocks() { return blocks_; }

  friend bool operator==(const ChunkTable& a, const ChunkTable& b);

 private:
  class Walk;

  WordBlocks blocks_;
  // A part of a table has these chunks of the blocks, whose places are further in the file.
  std::int64_t first_ = 0;
  std::int64_t chunks_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t offset_ = 0;
};

using ChunkPlaces = std::variant<SlotsInTurn, ShardSlots, ChunkTable>;

// Returns the place of `chunk`, or nothing if it is in no file and its elements have the fill
// value.
[[nodiscard]] std::optional<ChunkPlace> place_of(const ChunkPlaces& places, const ChunkGrid& grid,
                                                 std::int64_t chunk);

}  // namespace weir::array

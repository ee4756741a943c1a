// The places of an array's chunks in files: in closed form (slots, shards), or in a table of the
// answers of a file format's library.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "array/chunk_grid.hpp"
#include "array/declustering.hpp"
#include "array/per_dimension.hpp"

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
// equal distances in the file form one entry. This is the usual case with early allocation.
class ChunkTable {
 public:
  // Chunks are added in ascending order. Chunks that are not added are not in the file.
  void add(std::int64_t chunk, const ChunkPlace& place);
  [[nodiscard]] std::optional<ChunkPlace> place_of(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(runs_.size()); }

  struct Run {
    std::int64_t first = 0;
    std::int64_t chunks = 1;
    ChunkPlace place;           // place of the first chunk
    std::int64_t distance = 0;  // bytes between the starts of two chunks; undefined for one chunk

    friend bool operator==(const Run&, const Run&) = default;
  };
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  // Makes a table from runs(), which ascend and do not overlap.
  static ChunkTable of(std::vector<Run> runs);
  // Returns a table of the chunks first <= c < first + chunks, numbered from 0.
  [[nodiscard]] ChunkTable part(std::int64_t first, std::int64_t chunks) const;
  // Removes `chunk` and all later chunks from the table.
  void cut(std::int64_t chunk);
  // Appends the chunks of `part`; its chunk 0 becomes chunk `first`. All chunks of this table come
  // before `first`.
  void append(const ChunkTable& part, std::int64_t first);

  friend bool operator==(const ChunkTable&, const ChunkTable&) = default;

 private:
  std::vector<Run> runs_;
};

using ChunkPlaces = std::variant<SlotsInTurn, ShardSlots, ChunkTable>;

// Returns the place of `chunk`, or nothing if it is in no file and its elements have the fill
// value.
[[nodiscard]] std::optional<ChunkPlace> place_of(const ChunkPlaces& places, const ChunkGrid& grid,
                                                 std::int64_t chunk);

}  // namespace weir::array

// Where the chunks of an array lie in files: in closed form (slots, shards), or by a table of what
// a file's library was asked.
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

// Chunk c in slot ⌊c / files⌋ of a file: c mod files, or as Declustering turns.
struct SlotsInTurn {
  std::int64_t files = 1;
  std::int64_t offset = 0;  // of the first slot in each file
  std::int64_t slot_bytes = 0;
  std::uint64_t turn = 0;  // Declustering::turn_per_group()

  [[nodiscard]] ChunkPlace place_of(std::int64_t chunk) const {
    return {Declustering::turning(files, turn).holder(chunk), offset + chunk / files * slot_bytes};
  }
  friend bool operator==(const SlotsInTurn&, const SlotsInTurn&) = default;
};

// Boxes of `chunks_per_shard` chunks are a file each, chunks inside in row-major order; a shard at
// the array's upper edge has slots for chunks that do not exist.
struct ShardSlots {
  Indices chunks_per_shard;
  Indices shards;  // along each dimension
  std::int64_t offset = 0;
  std::int64_t slot_bytes = 0;

  [[nodiscard]] ChunkPlace place_of(const Indices& chunk) const;
  friend bool operator==(const ShardSlots&, const ShardSlots&) = default;
};

// What a library was asked chunk by chunk. Chunks that follow each other in number and at equal
// distances in the file are one entry, which early allocation makes the usual case.
class ChunkTable {
 public:
  // Chunks in ascending order; those left out are not in the file.
  void add(std::int64_t chunk, const ChunkPlace& place);
  [[nodiscard]] std::optional<ChunkPlace> place_of(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(runs_.size()); }

  struct Run {
    std::int64_t first = 0;
    std::int64_t chunks = 1;
    ChunkPlace place;           // of the first
    std::int64_t distance = 0;  // between the first bytes of two chunks; of one chunk: unknown

    friend bool operator==(const Run&, const Run&) = default;
  };
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  // Back from runs(): ascending, without overlaps.
  static ChunkTable of(std::vector<Run> runs);
  // Chunks first <= c < first + chunks alone, numbered from 0.
  [[nodiscard]] ChunkTable part(std::int64_t first, std::int64_t chunks) const;
  // The chunks from this one on are not in the file.
  void cut(std::int64_t chunk);
  // Adds the chunks of a part, of which number 0 is `first` here. All that this has are before.
  void append(const ChunkTable& part, std::int64_t first);

  friend bool operator==(const ChunkTable&, const ChunkTable&) = default;

 private:
  std::vector<Run> runs_;
};

using ChunkPlaces = std::variant<SlotsInTurn, ShardSlots, ChunkTable>;

// Nothing: the chunk is in no file, its elements have the fill value.
[[nodiscard]] std::optional<ChunkPlace> place_of(const ChunkPlaces& places, const ChunkGrid& grid,
                                                 std::int64_t chunk);

}  // namespace weir::array

// Places of encoded chunks, which take as many bytes as their encoding needed. The place of an
// element inside its chunk is unknown until the chunk is decoded, so such arrays are read and
// written by whole chunks (src/sections/encoded_array.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "array/chunk_grid.hpp"
#include "array/per_dimension.hpp"
#include "codecs/codec.hpp"
#include "stored/encoded_table.hpp"

namespace weir::storage {

// Chunk c is the whole file c. If the file does not exist, the chunk does not exist.
struct FilePerChunk {
  friend bool operator==(const FilePerChunk&, const FilePerChunk&) = default;
};

// The most chunks in a shard; there is memory for the index of one.
inline constexpr std::int64_t most_chunks_of_shard = std::int64_t{1} << 20;

// Shards of Zarr: each is a file with an index of its chunks' places. The table has all shards as
// they were when the map was made. Writers write whole shards, so readers read the index of a shard
// again.
struct EncodedShards {
  array::Indices chunks_per_shard;
  array::Indices shards;  // number of shards along each dimension
  bool index_at_end = true;
  bool index_summed = true;
  EncodedTable table;

  friend bool operator==(const EncodedShards&, const EncodedShards&) = default;
};

struct SlotInShard {
  std::int64_t shard = 0;
  std::int64_t slot = 0;
};
[[nodiscard]] SlotInShard slot_in_shard(const EncodedShards& shards, const array::Indices& chunk);

struct EncodedChunks {
  array::ChunkGrid grid;
  // Every chunk is stored whole; chunks at upper edges include elements outside the array.
  array::Indices stored_extents;
  Pipeline pipeline;
  std::variant<FilePerChunk, EncodedTable, EncodedShards> places;

  // Returns the place of a chunk. Returns nothing if the chunk is in no file; its elements then
  // have the fill value.
  [[nodiscard]] std::optional<EncodedPlace> place_of(std::int64_t chunk) const;
  friend bool operator==(const EncodedChunks&, const EncodedChunks&) = default;
};

}  // namespace weir::storage

// Where chunks are that were encoded, each in as many bytes as that took. Where in these an element
// is, nobody knows before decoding: such arrays are read and written by whole chunks
// (src/storage/encoded/encoded_array.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "array/chunk_grid.hpp"
#include "array/per_dimension.hpp"
#include "storage/codecs/codec.hpp"
#include "storage/formats/encoded_table.hpp"

namespace weir::storage {

// Chunk c is all of file c. A file that is not there is a chunk that is not there.
struct FilePerChunk {
  friend bool operator==(const FilePerChunk&, const FilePerChunk&) = default;
};

// Shards of Zarr, each a file with an index that says where its chunks are. The table is of all
// shards, as they were when the map was made; who writes chunks writes whole shards, so who reads
// looks at their index again.
struct EncodedShards {
  array::Indices chunks_per_shard;
  array::Indices shards;  // along each dimension
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
  // Every chunk is stored whole, those at upper edges with elements outside the array.
  array::Indices stored_extents;
  Pipeline pipeline;
  std::variant<FilePerChunk, EncodedTable, EncodedShards> places;

  // Nothing: the chunk is in no file, its elements have the fill value.
  [[nodiscard]] std::optional<EncodedPlace> place_of(std::int64_t chunk) const;
  friend bool operator==(const EncodedChunks&, const EncodedChunks&) = default;
};

}  // namespace weir::storage

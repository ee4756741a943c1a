#include "stored/encoded_chunks.hpp"

namespace weir::storage {

SlotInShard slot_in_shard(const EncodedShards& shards, const array::Indices& chunk) {
  SlotInShard place;
  for (int d = 0; d < chunk.size(); ++d) {
    place.shard = place.shard * shards.shards[d] + chunk[d] / shards.chunks_per_shard[d];
    place.slot = place.slot * shards.chunks_per_shard[d] + chunk[d] % shards.chunks_per_shard[d];
  }
  return place;
}

std::optional<EncodedPlace> EncodedChunks::place_of(std::int64_t chunk) const {
  if (std::holds_alternative<FilePerChunk>(places)) return EncodedPlace{.file = chunk};
  if (const auto* const shards = std::get_if<EncodedShards>(&places)) {
    return shards->table.place_of(chunk);
  }
  return std::get<EncodedTable>(places).place_of(chunk);
}

}  // namespace weir::storage

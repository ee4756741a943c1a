#include "storage/formats/encoded_chunks.hpp"

#include <algorithm>

namespace weir::storage {
namespace {

bool before(const EncodedTable::Entry& one, std::int64_t chunk) { return one.chunk < chunk; }

}  // namespace

EncodedTable::EncodedTable(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.chunk < b.chunk; });
}

std::optional<EncodedPlace> EncodedTable::place_of(std::int64_t chunk) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), chunk, before);
  if (found == entries_.end() || found->chunk != chunk) return std::nullopt;
  return found->place;
}

void EncodedTable::set(std::int64_t chunk, const EncodedPlace& place) {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), chunk, before);
  if (found != entries_.end() && found->chunk == chunk) {
    found->place = place;
  } else {
    entries_.insert(found, {chunk, place});
  }
}

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

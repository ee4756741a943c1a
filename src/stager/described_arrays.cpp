#include "stager/described_arrays.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "array/box.hpp"
#include "array/number_theory.hpp"
#include "common/checked.hpp"
#include "formats/file_map_message.hpp"
#include "sections/chunk_slabs.hpp"

namespace weir::stager {
namespace {

bool has_table(const storage::StoredArray& array) {
  return std::holds_alternative<storage::EncodedTable>(array.map.encoded()->places) &&
         array.map.files.files() == 1;
}

// Returns whether each of this many chunks or shards has a file of its own.
bool has_files(const storage::ExtentMap& map, std::int64_t number) {
  const storage::DataFiles::Parts& parts = map.files.parts();
  return parts.files == number && (parts.numbered || map.files.are_in_grid() || number == 1);
}

bool are_possible(const storage::EncodedShards& shards, const array::Indices& chunks) {
  const int dimensions = chunks.size();
  if (shards.chunks_per_shard.size() != dimensions || shards.shards.size() != dimensions ||
      shards.table.size() != 0) {
    return false;
  }
  std::int64_t in_shard = 1;
  for (int d = 0; d < dimensions; ++d) {
    const std::int64_t along = shards.chunks_per_shard[d];
    if (along < 1 || along > storage::most_chunks_of_shard / in_shard) return false;
    in_shard *= along;
    if (shards.shards[d] != array::divide_up(chunks[d], along)) return false;
  }
  return true;
}

// Returns whether the chunks have files of their own, or are in shards whose rows are not too long.
bool has_own_files(const storage::StoredArray& array) {
  const storage::EncodedChunks& chunks = *array.map.encoded();
  if (std::holds_alternative<storage::FilePerChunk>(chunks.places)) {
    return has_files(array.map, chunks.grid.chunks());
  }
  const auto* const shards = std::get_if<storage::EncodedShards>(&chunks.places);
  if (shards == nullptr || !are_possible(*shards, chunks.grid.counts())) return false;
  const auto slabs = storage::ChunkSlabs::create(array.map, storage::EncodedBlocks::shards);
  return slabs && slabs.value().bytes() <= storage::ChunkSlabs::most_shard_slab_bytes &&
         has_files(array.map, array::Box{shards->shards, shards->shards}.elements());
}

bool are_possible(const transport::ChunkPlaces& places) {
  return places.free_from >= 0 && places.own >= 0 && places.own < places.stagers &&
         (places.stagers == 1 || places.region_bytes > 0);
}

}  // namespace

Result<storage::StoredArray> described_array(const std::string& encoded) {
  auto map = storage::parse_file_map(encoded);
  if (!map) return map.error();
  if (map.value().arrays.size() != 1 || map.value().arrays.front().map.encoded() == nullptr) {
    return Error(ErrorCode::corrupt, "no array with encoded chunks was described");
  }
  return std::move(map.value().arrays.front());
}

bool can_be_encoded(const storage::StoredArray& array, const transport::ChunkPlaces& places) {
  return places.step != 0 ? has_table(array) && are_possible(places) : has_own_files(array);
}

bool are_possible(const transport::EncodedChunks& chunks, const storage::StoredArray& array) {
  const std::int64_t all = array.map.encoded()->grid.chunks();
  return has_table(array) && std::ranges::all_of(chunks.chunks, [all](const auto& one) {
           return one.chunk >= 0 && one.chunk < all && one.place.file == 0 &&
                  one.place.offset >= 0 && one.place.bytes >= 0 &&
                  checked_add(one.place.offset, one.place.bytes);
         });
}

}  // namespace weir::stager

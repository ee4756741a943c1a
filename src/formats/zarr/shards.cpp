#include "formats/zarr/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "array/number_theory.hpp"
#include "common/checked.hpp"
#include "sections/shard_index.hpp"
#include "system/file.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t most_shards = 65536;

std::int64_t product(const array::Indices& extents) {
  std::int64_t all = 1;  // number of chunks in a shard, or of shards; overflow was checked before
  for (const std::int64_t extent : extents) all *= extent;
  return all;
}

ShardIndexForm index_form(const ZarrArray& array, const array::Indices& chunks_per_shard) {
  return {chunks_per_shard, array.index_at_end, array.index_summed};
}

// Returns whether the chunk of a slot is in the array now, or will be when it grows along dimension
// 0.
bool will_exist(const ZarrArray& array, const ChunkExtents& chunks, const ShardSlots& slots,
                std::int64_t shard, std::int64_t slot) {
  for (int d = slots.shards.size() - 1; d >= 0; --d) {
    const std::int64_t chunk =
        shard % slots.shards[d] * slots.chunks_per_shard[d] + slot % slots.chunks_per_shard[d];
    shard /= slots.shards[d];
    slot /= slots.chunks_per_shard[d];
    const bool grows = d == 0 && array.description.grows;
    if (!grows && chunk >= chunks.grid.counts()[d]) return false;
  }
  return true;
}

const array::Indices& chunks_per_shard_of(const ExtentMap& map) {
  const EncodedChunks* const encoded = map.encoded();
  return encoded != nullptr ? std::get<EncodedShards>(encoded->places).chunks_per_shard
                            : std::get<ShardSlots>(map.chunks()->places).chunks_per_shard;
}

// Reads the places of the chunks of encoded shards.
std::optional<std::string> read_encoded_shards(const ZarrArray& array, ExtentMap& map,
                                               std::size_t most) {
  auto& chunks = std::get<EncodedChunks>(map.extents);
  auto& shards = std::get<EncodedShards>(chunks.places);
  const ShardIndexForm form = index_form(array, shards.chunks_per_shard);
  std::vector<EncodedTable::Entry> table;
  for (std::int64_t shard = 0; shard < map.files.files(); ++shard) {
    auto read = read_shard_index(form, map.files.path(shard));
    // The other shards and chunks can still be read. Reading a chunk of this shard, or one that
    // lies outside its shard, reads the index again, and then reports the problem (EncodedArray).
    if (std::holds_alternative<std::string>(read)) continue;
    const ShardIndex& index = std::get<ShardIndex>(read);
    if (index.entries.empty()) continue;
    for_each_slot(chunks.grid, shards.chunks_per_shard, shards.shards, shard,
                  [&](std::int64_t slot, std::optional<std::int64_t> chunk) {
                    const ShardEntry& entry = index.entries[static_cast<std::size_t>(slot)];
                    if (!chunk || !entry.is_there() || !entry.is_in(index.file_bytes)) return;
                    table.push_back({*chunk,
                                     {.file = shard,
                                      .offset = static_cast<std::int64_t>(entry.offset),
                                      .bytes = static_cast<std::int64_t>(entry.bytes)}});
                  });
    if (table.size() > most) {
      return fmt::format("it has more than {} chunks", most);
    }
  }
  shards.table = EncodedTable(std::move(table));
  return std::nullopt;
}

// Treats plain chunks as encoded without a codec. Each chunk is then looked up in its shard's index
// when it is read, so that chunks of intact shards can be read.
void read_by_index(const ZarrArray& array, ExtentMap& map) {
  const auto& chunks = std::get<ChunkExtents>(map.extents);
  const auto& slots = std::get<ShardSlots>(chunks.places);
  EncodedChunks encoded{chunks.grid,
                        *chunks.stored_extents,
                        {},
                        EncodedShards{.chunks_per_shard = slots.chunks_per_shard,
                                      .shards = slots.shards,
                                      .index_at_end = array.index_at_end,
                                      .index_summed = array.index_summed,
                                      .table = {}}};
  map.extents = std::move(encoded);
}

}  // namespace

Result<ExtentMap> zarr_shard_map(const ZarrArray& array, const std::string& folder) {
  const ArrayDescription& about = array.description;
  const auto grid = array::ChunkGrid::create(about.shape, *about.chunk_extents);
  if (!grid) return grid.error();
  ShardSlots slots;
  std::optional<std::int64_t> inside = 1;
  std::optional<std::int64_t> shards = 1;
  for (int d = 0; d < about.shape.dimensions(); ++d) {
    slots.chunks_per_shard.push_back((*about.shard_extents)[d] / (*about.chunk_extents)[d]);
    slots.shards.push_back(array::divide_up(about.shape.extent(d), (*about.shard_extents)[d]));
    if (inside) inside = checked_multiply(*inside, slots.chunks_per_shard[d]);
    if (shards) shards = checked_multiply(*shards, std::max<std::int64_t>(1, slots.shards[d]));
  }
  if (!inside || *inside > most_chunks_of_shard) {
    return invalid_argument(fmt::format("a shard has more than {} chunks", most_chunks_of_shard));
  }
  if (!shards || *shards > most_shards) {
    return invalid_argument(fmt::format("it has more than {} shards", most_shards));
  }
  slots.slot_bytes = bytes_of(*about.chunk_extents, about.type).value_or(INT64_MAX);
  const auto data = checked_multiply(slots.slot_bytes, *inside);
  if (!data || !checked_add(*data, index_form(array, slots.chunks_per_shard).bytes())) {
    return invalid_argument("a shard does not fit into 63 bits");
  }
  slots.offset = array.index_at_end ? 0 : index_form(array, slots.chunks_per_shard).bytes();
  ExtentMap map{
      .shape = about.shape,
      .type = about.type,
      .order = about.order,
      .byte_order = array.byte_order,
      .files = DataFiles::in_grid(folder + array.key_prefix, slots.shards, array.separator),
      .extents = {}};
  if (about.codecs.empty() && !array.text_fill) {
    map.extents = ChunkExtents{grid.value(), about.chunk_extents, slots};
  } else {
    map.extents = EncodedChunks{grid.value(), *about.chunk_extents, about.codecs,
                                EncodedShards{.chunks_per_shard = slots.chunks_per_shard,
                                              .shards = slots.shards,
                                              .index_at_end = array.index_at_end,
                                              .index_summed = array.index_summed,
                                              .table = {}}};
  }
  return map;
}

Status make_zarr_shards(const ZarrArray& array, const ExtentMap& map, std::int64_t first_row) {
  const ChunkExtents& chunks = *map.chunks();
  const auto& slots = std::get<ShardSlots>(chunks.places);
  const std::int64_t data_bytes = product(slots.chunks_per_shard) * slots.slot_bytes;
  const std::int64_t all = product(slots.shards);
  if (all == 0) return {};
  for (std::int64_t shard = all / slots.shards[0] * first_row; shard < all; ++shard) {
    std::vector<ShardEntry> entries(static_cast<std::size_t>(product(slots.chunks_per_shard)));
    for (std::int64_t slot = 0; slot < product(slots.chunks_per_shard); ++slot) {
      if (!will_exist(array, chunks, slots, shard, slot)) continue;
      entries[static_cast<std::size_t>(slot)] = {
          static_cast<std::uint64_t>(slots.offset + slot * slots.slot_bytes),
          static_cast<std::uint64_t>(slots.slot_bytes)};
    }
    std::vector<std::byte> index =
        shard_index_bytes(index_form(array, slots.chunks_per_shard), entries);
    auto file = begin_replacement(map.files.path(shard));
    if (!file) return file.error();
    const Slice slice{index.data(), static_cast<std::int64_t>(index.size())};
    std::int64_t calls = 0;
    Status written =
        write_slices(file.value(), {&slice, 1}, array.index_at_end ? data_bytes : 0, calls);
    if (written.ok()) written = finish_replacement(file.value(), map.files.path(shard), false);
    if (!written.ok()) return written;
  }
  return {};
}

std::optional<std::string> check_zarr_shards(const ZarrArray& array, const ExtentMap& map,
                                             std::int64_t first_row, std::int64_t end_row) {
  const ChunkExtents& chunks = *map.chunks();
  const auto& slots = std::get<ShardSlots>(chunks.places);
  const std::int64_t of_row = map.files.files() / std::max<std::int64_t>(1, slots.shards[0]);
  for (std::int64_t shard = of_row * first_row; shard < of_row * end_row; ++shard) {
    auto read = read_shard_index(index_form(array, slots.chunks_per_shard), map.files.path(shard));
    if (auto* const why = std::get_if<std::string>(&read)) return printable(*why);
    const ShardIndex& index = std::get<ShardIndex>(read);
    bool alike = !index.entries.empty();
    for_each_slot(chunks.grid, slots.chunks_per_shard, slots.shards, shard,
                  [&](std::int64_t slot, std::optional<std::int64_t> chunk) {
                    if (!chunk || !alike) return;
                    const ShardEntry& entry = index.entries[static_cast<std::size_t>(slot)];
                    alike = entry.bytes == static_cast<std::uint64_t>(slots.slot_bytes) &&
                            entry.offset ==
                                static_cast<std::uint64_t>(slots.offset + slot * slots.slot_bytes);
                  });
    if (!alike) return "its last shards were written by another program, in another order";
  }
  return std::nullopt;
}

std::optional<std::string> count_shard_indices(const ZarrArray& array, const ExtentMap& map,
                                               std::int64_t& bytes_left) {
  const std::int64_t bytes = index_form(array, chunks_per_shard_of(map)).bytes();
  const std::int64_t most = bytes_left / bytes;
  std::int64_t shards = 0;
  for (std::int64_t shard = 0; shard < map.files.files(); ++shard) {
    if (!is_on_disk(map.files.path(shard)) || ++shards <= most) continue;
    return "the indices of the folder's shards, up to this array, have more bytes than are read "
           "(WEIR_READ_BYTES allows more)";
  }
  bytes_left -= shards * bytes;
  return std::nullopt;
}

std::optional<std::string> read_zarr_shards(const ZarrArray& array, ExtentMap& map,
                                            std::size_t most) {
  if (map.encoded() != nullptr) return read_encoded_shards(array, map, most);
  auto& chunks = std::get<ChunkExtents>(map.extents);
  const auto slots = std::get<ShardSlots>(chunks.places);
  const bool small = std::cmp_less_equal(chunks.grid.chunks(), most);
  std::vector<std::pair<std::int64_t, ExtentPlace>> places;
  bool damaged = false;
  bool as_laid_out = true;
  for (std::int64_t shard = 0; shard < map.files.files() && !damaged; ++shard) {
    auto read = read_shard_index(index_form(array, slots.chunks_per_shard), map.files.path(shard));
    damaged = std::holds_alternative<std::string>(read);
    if (damaged) break;
    const ShardIndex& index = std::get<ShardIndex>(read);
    for_each_slot(chunks.grid, slots.chunks_per_shard, slots.shards, shard,
                  [&](std::int64_t slot, std::optional<std::int64_t> chunk) {
                    if (!chunk || damaged) return;
                    const ShardEntry entry = index.entries.empty()
                                                 ? ShardEntry()
                                                 : index.entries[static_cast<std::size_t>(slot)];
                    const std::int64_t expected = slots.offset + slot * slots.slot_bytes;
                    if (entry.offset != static_cast<std::uint64_t>(expected)) as_laid_out = false;
                    if (!entry.is_there()) return;
                    if (entry.bytes != static_cast<std::uint64_t>(slots.slot_bytes) ||
                        !entry.is_in(index.file_bytes)) {
                      damaged = true;
                    } else if (small) {
                      places.emplace_back(
                          *chunk, ExtentPlace{shard, static_cast<std::int64_t>(entry.offset)});
                    }
                  });
  }
  if (damaged) {
    read_by_index(array, map);
    return read_encoded_shards(array, map, most);
  }
  if (as_laid_out) return std::nullopt;
  if (!small) return fmt::format("it has more than {} chunks in shards of another order", most);
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ChunkTable::Run> runs;
  for (const auto& [chunk, place] : places) ChunkTable::add(runs, chunk, place);
  chunks.places = ChunkTable::of(runs);
  return std::nullopt;
}

}  // namespace weir::storage

#include "formats/zarr/contents.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "formats/reading_limits.hpp"
#include "formats/zarr/own_attribute.hpp"
#include "formats/zarr/shards.hpp"

namespace weir::storage {
namespace {

// Returns the map of an array with one file per chunk. `folder` ends with '/'.
ExtentMap chunk_file_map(const ZarrArray& array, const std::string& folder) {
  const ArrayDescription& about = array.description;
  const auto grid = array::ChunkGrid::create(about.shape, *about.chunk_extents).value();
  const std::int64_t slot_bytes = bytes_of(*about.chunk_extents, about.type).value();
  std::string scalar_key = array.key_prefix.empty() ? "0" : "c";
  DataFiles files = about.is_scalar ? DataFiles::one(folder + std::move(scalar_key))
                                    : DataFiles::in_grid(folder + array.key_prefix, grid.counts(),
                                                         array.separator);
  const bool encoded = !about.codecs.empty() || array.text_fill;
  if (!encoded) files.set_bytes_when_made(slot_bytes);
  ExtentMap map{.shape = about.shape,
                .type = about.type,
                .order = about.order,
                .byte_order = array.byte_order,
                .files = std::move(files),
                .extents = {}};
  if (encoded) {
    map.extents = EncodedChunks{grid, *about.chunk_extents, about.codecs, FilePerChunk()};
  } else {
    map.extents =
        ChunkExtents{grid, about.chunk_extents,
                     SlotsInTurn{std::max<std::int64_t>(1, grid.chunks()), 0, slot_bytes}};
  }
  return map;
}

void append(std::vector<AttributeLeftOut>& some, std::vector<AttributeLeftOut>& all) {
  std::move(some.begin(), some.end(), std::back_inserter(all));
}

}  // namespace

Result<ExtentMap> zarr_map(const ZarrArray& array, const std::string& folder) {
  if (array.description.shard_extents) return zarr_shard_map(array, folder);
  return chunk_file_map(array, folder);
}

ZarrContents zarr_contents(const ZarrDocuments& documents, const std::string& path) {
  ZarrContents found;
  const ZarrOwn own = parse_zarr_own(documents.at(""));
  const auto limits = reading_limits();  // read_zarr_store() has reported invalid ones
  auto index_bytes_left = static_cast<std::int64_t>(limits ? limits.value().header.more_memory
                                                           : SandboxLimits().more_memory);
  for (const auto& [name, document] : documents) {
    if (document.is_string()) {
      found.damaged.push_back({name, document.get<std::string>()});
      found.map.refused.push_back(found.damaged.back());
      continue;
    }
    if (!is_zarr_array(document)) {
      auto attributes = zarr_attributes(document, name, own);
      if (!attributes.shown.empty())
        found.map.groups.push_back({name, std::move(attributes.shown)});
      append(attributes.left_out, found.map.left_out);
      continue;
    }
    auto parsed = parse_zarr_array(document, name, own);
    if (auto* const reason = std::get_if<std::string>(&parsed)) {
      found.map.refused.push_back({name, std::move(*reason)});
      continue;
    }
    ZarrArray& array = std::get<ZarrArray>(parsed);
    auto map = zarr_map(array, zarr_folder(path, name));
    std::optional<std::string> reason;
    if (!map) {
      reason = map.error().message;
    } else if (array.description.shard_extents) {
      reason = count_shard_indices(array, map.value(), index_bytes_left);
      if (!reason) reason = read_zarr_shards(array, map.value());
    }
    if (reason) {
      found.map.refused.push_back({name, *std::move(reason)});
      continue;
    }
    append(array.left_out, found.map.left_out);
    if (array.text_fill) {
      found.map.texts.push_back({.array = {array.description, std::move(map).value()},
                                 .fill = *std::move(array.text_fill),
                                 .heap_base = std::nullopt});
      continue;
    }
    found.map.arrays.push_back({array.description, std::move(map).value()});
    found.arrays.push_back(std::move(array));
  }
  return found;
}

}  // namespace weir::storage

// Shard files of Zarr's codec sharding_indexed: chunks, and an index of them (shard_index.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/formats/extent_map.hpp"
#include "storage/formats/zarr/document.hpp"

namespace weir::storage {

// The map of an array in shards as Weir lays them out: every chunk in the slot of its number in the
// shard. Fails when a shard has more than 2^20 chunks or the array more than 65536 shards.
[[nodiscard]] Result<ExtentMap> zarr_shard_map(const ZarrArray& array, const std::string& folder);

// Makes the shards from row `first_row` of the grid of shards on, empty but for their index, which
// has the array's chunks and those that it has when it grows: an index is never written again.
Status make_zarr_shards(const ZarrArray& array, const ExtentMap& map, std::int64_t first_row);

// A reason when shards of the rows from `first_row` to `end_row` have no place for a chunk of the
// array where Weir has it.
[[nodiscard]] std::optional<std::string> check_zarr_shards(const ZarrArray& array,
                                                           const ExtentMap& map,
                                                           std::int64_t first_row,
                                                           std::int64_t end_row);

// The most chunks in a table with the place of each.
inline constexpr std::size_t most_chunks_in_table = std::size_t{1} << 22;

// Reads every shard's index. Where they are not as Weir lays them out, or encoded, the map gets a
// table of at most `most` chunks; a reason when there are more. Where an index does not have its
// checksum, or tells of a chunk that cannot be, the map of plain chunks becomes one of encoded
// shards without codecs: reading a chunk that is lost then fails, and the others are read.
[[nodiscard]] std::optional<std::string> read_zarr_shards(const ZarrArray& array, ExtentMap& map,
                                                          std::size_t most = most_chunks_in_table);

}  // namespace weir::storage

// Shard files of Zarr's codec sharding_indexed: chunks, and an index of them (shard_index.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/zarr/document.hpp"
#include "stored/extent_map.hpp"

namespace weir::storage {

// Returns the map of an array in shards in Weir's layout: every chunk is in the slot with its
// number in the shard. Fails if a shard has more than 2^20 chunks or the array more than 65536
// shards.
[[nodiscard]] Result<ExtentMap> zarr_shard_map(const ZarrArray& array, const std::string& folder);

// Makes the shards from row `first_row` of the grid of shards on. They are empty except for their
// index. An index is never written again, so it has the array's chunks and those that it will have
// when it grows.
Status make_zarr_shards(const ZarrArray& array, const ExtentMap& map, std::int64_t first_row);

// Returns a reason if shards of the rows from `first_row` to `end_row` do not have a chunk of the
// array in the place of Weir's layout.
[[nodiscard]] std::optional<std::string> check_zarr_shards(const ZarrArray& array,
                                                           const ExtentMap& map,
                                                           std::int64_t first_row,
                                                           std::int64_t end_row);

// Largest number of chunks in a table of their places.
inline constexpr std::size_t most_chunks_in_table = std::size_t{1} << 22;

// Subtracts the bytes of the indices of those shards that exist. Returns a reason, and subtracts
// nothing, if they are more than `bytes_left`. A name costs a file next to nothing: 65,536 links to
// one shard may stand for a TiB of indices.
[[nodiscard]] std::optional<std::string> count_shard_indices(const ZarrArray& array,
                                                             const ExtentMap& map,
                                                             std::int64_t& bytes_left);

// Reads every shard's index. If the shards do not have Weir's layout, or are encoded, the map gets
// a table of at most `most` chunks; returns a reason if there are more. If an index has a wrong
// checksum or an invalid chunk, the map of plain chunks becomes a map of encoded shards without
// codecs: reading a lost chunk then fails, and the other chunks can be read.
[[nodiscard]] std::optional<std::string> read_zarr_shards(const ZarrArray& array, ExtentMap& map,
                                                          std::size_t most = most_chunks_in_table);

}  // namespace weir::storage

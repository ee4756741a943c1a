// The index of a shard file: (offset, bytes) per chunk in row-major order, little-endian, with all
// bits set for absent chunks, and a CRC-32C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "array/chunk_grid.hpp"
#include "array/per_dimension.hpp"
#include "system/file.hpp"

namespace weir::storage {

struct ShardIndexForm {
  array::Indices chunks_per_shard;
  bool at_end = true;
  bool summed = true;

  // Returns the number of slots. It is at most 2^20, which is checked when a map of shards is made.
  [[nodiscard]] std::int64_t slots() const;
  [[nodiscard]] std::int64_t bytes() const;
};

struct ShardEntry {
  static constexpr std::uint64_t absent = ~std::uint64_t{0};

  std::uint64_t offset = absent;
  std::uint64_t bytes = absent;

  [[nodiscard]] bool is_there() const { return offset != absent || bytes != absent; }
  // Returns whether the chunk lies within a file of this length.
  [[nodiscard]] bool is_in(std::int64_t file_bytes) const {
    const auto all = static_cast<std::uint64_t>(file_bytes);
    return offset <= all && bytes <= all - offset;
  }
};

struct ShardIndex {
  std::vector<ShardEntry> entries;  // empty: the file does not exist
  std::int64_t file_bytes = 0;
};

// Reads an index. Returns a reason if it cannot be read or its checksum is wrong.
[[nodiscard]] std::variant<ShardIndex, std::string> read_shard_index(const ShardIndexForm& form,
                                                                     const std::string& path);
[[nodiscard]] std::variant<ShardIndex, std::string> read_shard_index(const ShardIndexForm& form,
                                                                     const File& file);
[[nodiscard]] std::vector<std::byte> shard_index_bytes(const ShardIndexForm& form,
                                                       const std::vector<ShardEntry>& entries);

// Return the coordinates of the first chunk of a shard, and of the chunk in a slot of the shard,
// which may lie outside the grid.
[[nodiscard]] array::Indices corner_of_shard(const array::Indices& chunks_per_shard,
                                             const array::Indices& shards, std::int64_t shard);
[[nodiscard]] array::Indices chunk_in_slot(const array::Indices& chunks_per_shard,
                                           const array::Indices& corner, std::int64_t slot);

// Calls visit(slot, chunk) for each slot of a shard. `chunk` is the chunk's number; nothing if it
// is not in the array.
template <typename Visit>
void for_each_slot(const array::ChunkGrid& grid, const array::Indices& chunks_per_shard,
                   const array::Indices& shards, std::int64_t shard, const Visit& visit) {
  const array::Indices corner = corner_of_shard(chunks_per_shard, shards, shard);
  const std::int64_t all = array::Box{chunks_per_shard, chunks_per_shard}.elements();
  for (std::int64_t slot = 0; slot < all; ++slot) {
    const array::Indices chunk = chunk_in_slot(chunks_per_shard, corner, slot);
    bool exists = true;
    for (int d = 0; d < chunk.size(); ++d) exists = exists && chunk[d] < grid.counts()[d];
    visit(slot, exists ? std::optional(grid.number(chunk)) : std::nullopt);
  }
}

}  // namespace weir::storage

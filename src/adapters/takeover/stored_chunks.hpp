// Where the chunks of an array are in a file, as the library of the file's format has told them one
// by one. All chunks are stored whole, also those at the array's upper edges. The array is then one
// of Weir's (stored/extent_map.hpp), of which each rank moves a region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "adapters/mpiio/take_over.hpp"
#include "array/element_type.hpp"
#include "array/region.hpp"
#include "stored/extent_map.hpp"

namespace weir::mpiio {

struct StoredChunks {
  // An array of more chunks in its file is passed on: a place takes up to 40 bytes on each rank.
  static constexpr std::size_t most_chunks = std::size_t{1} << 20;

  // Returns nothing if Weir has no arrays of this shape.
  static std::unique_ptr<StoredChunks> create(const ChunkedShape& shape);

  // Adds a chunk that begins at the element `corner`; one that is outside the array does not count.
  // Returns false if there are too many, or if the chunk cannot be there. Chunks come in any order.
  [[nodiscard]] bool add(const std::uint64_t* corner, std::int64_t offset);
  // Called after the last chunk was added.
  void end();
  // Returns whether all chunks of the array are in the file.
  [[nodiscard]] bool are_all() const;

  // Returns nothing if the array has no such elements.
  [[nodiscard]] std::optional<array::Region> region_of(const ChunkedBlocks& given) const;
  [[nodiscard]] std::int64_t bytes_of(const array::Region& region) const;
  // Returns the offset behind the last of the chunks that have elements of the region; nothing if a
  // chunk is not in the file.
  [[nodiscard]] std::optional<std::int64_t> end_of(const array::Region& region) const;

  // The array, of which the path is not known here.
  [[nodiscard]] const storage::ExtentMap& map() const { return map_; }
  // Returns a number that is equal on ranks that know the same array.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

  StoredChunks(storage::ExtentMap map, std::int64_t bytes)
      : map_(std::move(map)), chunk_bytes_(bytes) {}

 private:
  struct Chunk {
    std::int64_t number = 0;
    std::int64_t offset = 0;
  };

  [[nodiscard]] const storage::ChunkExtents& extents() const { return *map_.chunks(); }

  storage::ExtentMap map_;
  std::int64_t chunk_bytes_;
  std::vector<Chunk> added_;  // empty after end()
  std::int64_t chunks_ = 0;
  std::int64_t end_ = 0;  // the offset behind the last chunk
  std::uint64_t fingerprint_ = 0;
};

}  // namespace weir::mpiio

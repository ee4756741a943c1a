// The view of encoded chunks that functions that move pieces use. The array consists of blocks,
// each of which only one process writes. A block is a single chunk or, for arrays in shards, all
// chunks of a shard. Each block consists of slabs: the chunks with one index along the slowest
// dimension, which are contiguous in the packed block. A process therefore has only one slab in
// memory, however large shards are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array/box.hpp"
#include "array/layout.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "stored/extent_map.hpp"

namespace weir::storage {

enum class EncodedBlocks : std::uint8_t { chunks, shards };

class ChunkSlabs {
 public:
  // Maximum length of a slab of whole shards; arrays with longer slabs should be written by chunks.
  static constexpr std::int64_t most_shard_slab_bytes = std::int64_t{64} << 20;

  // The map is encoded, and in shards if `blocks` is `shards`. Fails if the bytes of the blocks do
  // not fit into 63 bits.
  static Result<ChunkSlabs> create(const ExtentMap& map, EncodedBlocks blocks);

  // Returns the map of a file at `path` in which slot b contains block b of the elements, packed in
  // the stored extents of blocks, little-endian. No other array may use the path.
  [[nodiscard]] ExtentMap view(const std::string& path) const;

  // Returns the number of bytes of each slab. Slabs follow each other in the view's file.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  // Returns the number of bytes of all slabs of a block.
  [[nodiscard]] std::int64_t block_bytes() const { return bytes_ * chunks_per_block_[slowest_]; }
  [[nodiscard]] const array::Layout& layout() const { return layout_; }
  [[nodiscard]] const array::Layout& chunk_layout() const { return chunk_layout_; }

  struct Member {
    std::int64_t chunk = 0;
    array::Indices origin;  // origin of the chunk in the slab
    array::Box inside;      // part of the chunk that is in the array, in indices of the slab

    [[nodiscard]] bool clipped(const array::Indices& chunk_extents) const {
      return inside.extent != chunk_extents;
    }
  };
  // Returns whether the slab exists, that is, whether the array has elements in its block.
  [[nodiscard]] bool has(std::int64_t slab) const {
    return slab >= 0 && slab / chunks_per_block_[slowest_] < blocks_.chunks();
  }
  // Returns the part of a slab that is in the array, in indices of the slab. It is empty for slabs
  // of a shard that lie completely outside the array.
  [[nodiscard]] array::Box inside(std::int64_t slab) const;
  // Returns the existing chunks of a slab. A shard at the array's upper edge may have slabs without
  // chunks.
  [[nodiscard]] std::vector<Member> members(std::int64_t slab) const;
  // Returns the elements in bytes [from, to) of a slab.
  [[nodiscard]] std::vector<array::Box> boxes(std::int64_t from, std::int64_t to) const;

 private:
  ChunkSlabs(const ExtentMap& map, const array::ChunkGrid& chunks, const array::ChunkGrid& blocks,
             const array::Shape& slab, const array::Layout& layout,
             const array::Layout& chunk_layout)
      : shape_(map.shape),
        type_(map.type),
        order_(map.order),
        chunks_(chunks),
        blocks_(blocks),
        slab_(slab),
        layout_(layout),
        chunk_layout_(chunk_layout) {}

  array::Shape shape_;
  array::ElementType type_;
  array::Order order_;
  array::ChunkGrid chunks_;
  array::ChunkGrid blocks_;
  array::Shape slab_;
  array::Layout layout_;
  array::Layout chunk_layout_;
  array::Indices chunk_extents_;  // stored extents of a chunk
  array::Indices block_extents_;
  array::Indices chunks_per_block_;
  int slowest_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace weir::storage

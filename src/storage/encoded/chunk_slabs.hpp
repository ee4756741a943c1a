// Encoded chunks as whoever moves pieces meets them: in blocks that one process alone writes, which
// are single chunks or, of arrays in shards, the shards' chunks together; and each block in slabs,
// a row of its chunks along the slowest dimension, which is contiguous in the packed block. So a
// process has one slab in memory, however long shards are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array/box.hpp"
#include "array/layout.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"
#include "storage/formats/extent_map.hpp"

namespace weir::storage {

enum class EncodedBlocks : std::uint8_t { chunks, shards };

class ChunkSlabs {
 public:
  // The longest slab of whole shards; longer ones should be written by chunks.
  static constexpr std::int64_t most_shard_slab_bytes = std::int64_t{64} << 20;

  // The map is encoded, and in shards where blocks are. Fails when the blocks do not fit into 63
  // bits.
  static Result<ChunkSlabs> create(const ExtentMap& map, EncodedBlocks blocks);

  // The map of a file, of that path, with block b of its elements in slot b, packed in the extents
  // that blocks are stored with, little-endian. Of another array nothing else may have the path.
  [[nodiscard]] ExtentMap view(const std::string& path) const;

  // The bytes of each slab; slabs follow each other in the view's file.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] const array::Layout& layout() const { return layout_; }
  [[nodiscard]] const array::Layout& chunk_layout() const { return chunk_layout_; }

  struct Member {
    std::int64_t chunk = 0;
    array::Indices origin;  // of the chunk in the slab
    array::Box inside;      // in the slab: what of the chunk is in the array

    [[nodiscard]] bool clipped(const array::Indices& chunk_extents) const {
      return inside.extent != chunk_extents;
    }
  };
  // Whether there is such a slab: the array has elements in its block.
  [[nodiscard]] bool has(std::int64_t slab) const {
    return slab >= 0 && slab / chunks_per_block_[slowest_] < blocks_.chunks();
  }
  // The part of a slab, in itself, that is in the array. Empty for those of a shard that lie wholly
  // outside.
  [[nodiscard]] array::Box inside(std::int64_t slab) const;
  // The chunks that there are of a slab. A shard at the array's upper edge has slabs without any.
  [[nodiscard]] std::vector<Member> members(std::int64_t slab) const;
  // The elements in bytes [from, to) of a slab.
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
  array::Indices chunk_extents_;  // as stored
  array::Indices block_extents_;
  array::Indices chunks_per_block_;
  int slowest_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace weir::storage

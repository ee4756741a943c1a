// An array in chunks. Each chunk is dense at some place in one of the image's files
// (array/chunk_places.hpp), with its elements in the image's order. A chunk at the array's upper
// edge is either packed with its actual extents, or stored whole, with elements outside the array
// that are never moved. Chunks that are in no file contain the fill value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "array/chunk_grid.hpp"
#include "array/chunk_places.hpp"
#include "array/element_type.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::plan {

// Places chunks in slots of equal size, round-robin over the files.
struct ChunkPlacement {
  std::int64_t offset = 0;          // of the first slot in each file, in bytes
  std::int64_t slot_alignment = 1;  // slots are a multiple of this many bytes (stripes, blocks)
  std::int64_t files = 1;           // 1: a shared file; more: subfiles
  // The parameter of the same name in declustering.hpp, for existing files; nothing: the best value
  // for the grid.
  std::optional<std::uint64_t> turn_per_group = std::nullopt;
};

class ChunkedImage {
 public:
  // Creates an image with packed edge chunks. Fails if the offset is negative, the alignment or the
  // number of files is below 1, or the offset of the last byte does not fit into 63 bits.
  static Result<ChunkedImage> create(const array::ChunkGrid& grid, const array::ElementType& type,
                                     array::Order order, const ChunkPlacement& placement);
  // Creates an image with chunks in `files` files at places that were checked: offsets are >= 0,
  // and that of the last byte is below 2^63. `stored_extents`: the extents of every chunk in the
  // file; nothing: edge chunks are packed.
  static Result<ChunkedImage> at(const array::ChunkGrid& grid, const array::ElementType& type,
                                 array::Order order, array::ChunkPlaces places, std::int64_t files,
                                 const std::optional<array::Indices>& stored_extents);

  [[nodiscard]] const array::ChunkGrid& grid() const { return grid_; }
  [[nodiscard]] const array::Shape& shape() const { return grid_.shape(); }
  [[nodiscard]] array::Order order() const { return order_; }
  [[nodiscard]] std::int64_t element_bytes() const { return element_bytes_; }
  [[nodiscard]] std::int64_t files() const { return files_; }
  [[nodiscard]] const array::ChunkPlaces& places() const { return *places_; }
  // Returns the bytes that a chunk takes in the file; packed edge chunks take less.
  [[nodiscard]] std::int64_t chunk_bytes() const { return chunk_bytes_; }
  // Returns the extents of a chunk as it is stored.
  [[nodiscard]] array::Indices stored_extents(const array::Box& chunk) const {
    return stored_extents_ ? *stored_extents_ : chunk.extent;
  }

  using Place = array::ChunkPlace;
  // Returns the place of a chunk, or nothing if it is in no file.
  [[nodiscard]] std::optional<Place> place_of(std::int64_t chunk) const {
    return array::place_of(*places_, grid_, chunk);
  }

  friend bool operator==(const ChunkedImage& a, const ChunkedImage& b);

 private:
  ChunkedImage(const array::ChunkGrid& grid, std::int64_t element_bytes, array::Order order)
      : grid_(grid), element_bytes_(element_bytes), order_(order) {}
  Status settle_chunk_bytes();

  array::ChunkGrid grid_;
  std::int64_t element_bytes_;
  array::Order order_;
  std::int64_t chunk_bytes_ = 0;
  std::int64_t files_ = 1;
  std::optional<array::Indices> stored_extents_;
  std::shared_ptr<const array::ChunkPlaces> places_;  // shared, since a table may be long
};

}  // namespace weir::plan

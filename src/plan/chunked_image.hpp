// An array in chunks, each of which is dense somewhere in one of the image's files
// (array/chunk_places.hpp), its elements in the image's order. A chunk at the array's upper edge is
// packed in the extents it has there, or stored whole, with elements outside the array that nobody
// moves. Chunks that are in no file have the fill value.
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

// Slots of equal size, in turn in the files.
struct ChunkPlacement {
  std::int64_t offset = 0;          // of the first slot in each file, bytes
  std::int64_t slot_alignment = 1;  // slots are a multiple of so many bytes: stripes, blocks
  std::int64_t files = 1;           // 1: shared; more: subfiles
  // As declustering.hpp has it: of files that are there; nothing: the best for the grid.
  std::optional<std::uint64_t> turn_per_group = std::nullopt;
};

class ChunkedImage {
 public:
  // Edge chunks packed. Fails on a negative offset, an alignment or number of files below 1, and
  // when the last byte's offset does not fit into 63 bits.
  static Result<ChunkedImage> create(const array::ChunkGrid& grid, const array::ElementType& type,
                                     array::Order order, const ChunkPlacement& placement);
  // Chunks in `files` files at places that were checked: offsets are >= 0, the last byte's below
  // 2^63. `stored_extents`: those of every chunk in the file; nothing: edge chunks are packed.
  static Result<ChunkedImage> at(const array::ChunkGrid& grid, const array::ElementType& type,
                                 array::Order order, array::ChunkPlaces places, std::int64_t files,
                                 const std::optional<array::Indices>& stored_extents);

  [[nodiscard]] const array::ChunkGrid& grid() const { return grid_; }
  [[nodiscard]] const array::Shape& shape() const { return grid_.shape(); }
  [[nodiscard]] array::Order order() const { return order_; }
  [[nodiscard]] std::int64_t element_bytes() const { return element_bytes_; }
  [[nodiscard]] std::int64_t files() const { return files_; }
  [[nodiscard]] const array::ChunkPlaces& places() const { return *places_; }
  // What a chunk takes in the file, but for less at edges where these are packed.
  [[nodiscard]] std::int64_t chunk_bytes() const { return chunk_bytes_; }
  // The extents of a chunk as it is stored.
  [[nodiscard]] array::Indices stored_extents(const array::Box& chunk) const {
    return stored_extents_ ? *stored_extents_ : chunk.extent;
  }

  using Place = array::ChunkPlace;
  // Nothing: it is in no file.
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
  std::shared_ptr<const array::ChunkPlaces> places_;  // shared: a table may be long
};

}  // namespace weir::plan

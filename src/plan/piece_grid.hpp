// The pieces in which aggregators move an array on disk: each a box of the array that is contiguous
// in its file and fits into a buffer.
//
// A chunk (the whole array where it is contiguous on disk) is cut in its own order of elements into
// slabs: whole inner dimensions, some indices of one dimension, one index of those outside it. So
// whatever meets a piece meets one box, and a piece in a buffer is a packed array of its extents.
// Pieces are numbered chunk by chunk, inside a chunk in the order of the file; the same count for
// each chunk, so those beyond the edge of a smaller chunk are empty.
#pragma once

#include <cstdint>
#include <vector>

#include "array/chunk_grid.hpp"
#include "array/layout.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"
#include "common/status.hpp"

namespace weir::plan {

class PieceGrid {
 public:
  // Pieces of at most `piece_bytes` of an array cut into `chunks`, whose elements are in `order`.
  // Fails when a piece does not hold one element.
  static Result<PieceGrid> create(const array::ChunkGrid& chunks, std::int64_t element_bytes,
                                  array::Order order, std::int64_t piece_bytes);

  [[nodiscard]] const array::ChunkGrid& chunks() const { return chunks_; }
  [[nodiscard]] std::int64_t element_bytes() const { return element_bytes_; }
  [[nodiscard]] std::int64_t pieces_per_chunk() const { return pieces_per_chunk_; }
  // Numbers of pieces, the empty ones included. Fits into 63 bits.
  [[nodiscard]] std::int64_t pieces() const { return chunks_.chunks() * pieces_per_chunk_; }
  [[nodiscard]] std::int64_t chunk_of(std::int64_t piece) const {
    return piece / pieces_per_chunk_;
  }
  [[nodiscard]] array::Box box(std::int64_t piece) const;
  // From the chunk's first byte to the piece's.
  [[nodiscard]] std::int64_t byte_in_chunk(std::int64_t piece) const;
  // Of a piece in a buffer: index 0 is the box's lower corner.
  [[nodiscard]] array::Layout buffer_layout(const array::Box& box) const;
  // The piece that holds an element.
  [[nodiscard]] std::int64_t piece_at(const array::Indices& index) const;

  // Appends the pieces that hold an element of `region`, each once, ascending. The work is in
  // proportion to the pieces along each dimension between the first and last of a chunk.
  void append_meeting(const array::Region& region, std::vector<std::int64_t>& pieces) const;
  // The same of the pieces first <= number < last of an array of one chunk, or of chunks whose
  // number is `remainder` modulo `modulus`.
  void append_meeting_range(const array::Region& region, std::int64_t first, std::int64_t last,
                            std::vector<std::int64_t>& pieces) const;
  void append_meeting_dealt(const array::Region& region, std::int64_t modulus,
                            std::int64_t remainder, std::vector<std::int64_t>& pieces) const;

 private:
  PieceGrid(const array::ChunkGrid& chunks, std::int64_t element_bytes, array::Order order)
      : chunks_(chunks), element_bytes_(element_bytes), order_(order) {}
  void append_in_chunk(const array::Region& region, std::int64_t chunk,
                       std::vector<std::int64_t>& pieces) const;

  array::ChunkGrid chunks_;
  std::int64_t element_bytes_;
  array::Order order_;
  array::Indices slab_;   // extents of a piece that is not cut
  array::Indices slabs_;  // pieces of a whole chunk along each dimension
  std::int64_t pieces_per_chunk_ = 1;
};

}  // namespace weir::plan

// An array cut into chunks of one shape, smaller at its upper edges, numbered in row-major order.
#pragma once

#include <cstdint>

#include "array/box.hpp"
#include "array/odometer.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"
#include "array/regular_distribution.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::array {

class ChunkGrid {
 public:
  // Extents of a chunk in elements, each at least 1; one greater than the array's counts as the
  // array's. Fails on another number of dimensions than the array's and on extents below 1.
  static Result<ChunkGrid> create(const Shape& shape, const Indices& chunk_extents);
  // Chunks that are the blocks of the distribution: under BLOCK one chunk per rank, under CYCLIC(k)
  // chunks of k, along `*` the whole dimension. (With CYCLIC a rank's part is many chunks.)
  static ChunkGrid natural(const RegularDistribution& distribution);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const Indices& chunk_extents() const { return chunk_extents_; }
  // Chunks along each dimension, and in all; none when the array has no element.
  [[nodiscard]] const Indices& counts() const { return counts_; }
  [[nodiscard]] std::int64_t chunks() const { return Box{counts_, counts_}.elements(); }

  // The chunk's place in the grid, and back.
  [[nodiscard]] Indices coordinates(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t number(const Indices& coordinates) const;
  // The elements of a chunk.
  [[nodiscard]] Box box(const Indices& coordinates) const;
  [[nodiscard]] Box box(std::int64_t chunk) const { return box(coordinates(chunk)); }
  [[nodiscard]] std::int64_t chunk_of(const Indices& index) const;
  // Elements in all the chunks of lower numbers: where a chunk starts when chunks are stored one
  // after the other without gaps. `chunk` may be chunks().
  [[nodiscard]] std::int64_t elements_before(std::int64_t chunk) const;

  friend bool operator==(const ChunkGrid&, const ChunkGrid&) = default;

 private:
  ChunkGrid(const Shape& shape, const Indices& chunk_extents);

  Shape shape_;
  Indices chunk_extents_;
  Indices counts_;
};

// The chunks that hold an element of a region, by ascending number. Chunks between them cost
// nothing: along each dimension the next chunk is that of the next index of the region.
class ChunksMeeting {
 public:
  ChunksMeeting(const ChunkGrid& grid, const Region& region);
  // False when there is none left.
  bool next(std::int64_t& chunk);

 private:
  // The first chunk along dimension d that holds an index from `position` of the region on.
  void enter(int dimension, std::int64_t position);

  ChunkGrid grid_;
  Region region_;
  Indices coordinates_;
  Indices next_position_;  // of the first index of the region after the current chunk
  bool done_ = false;
};

}  // namespace weir::array

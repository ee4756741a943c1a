// An array cut into chunks, numbered in row-major order. All chunks have one shape, except that
// those at the array's upper edges may be smaller.
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
  // `chunk_extents` are in elements. An extent greater than the array's counts as the array's.
  // Fails if the number of dimensions differs from the array's or an extent is below 1.
  static Result<ChunkGrid> create(const Shape& shape, const Indices& chunk_extents);
  // Returns the grid whose chunks are the blocks of the distribution. Along a dimension, BLOCK
  // gives one chunk per process, CYCLIC(k) chunks of k indices (several per process), and `*` one
  // chunk of the whole dimension.
  static ChunkGrid natural(const RegularDistribution& distribution);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const Indices& chunk_extents() const { return chunk_extents_; }
  // Return the number of chunks along each dimension and in total. There is no chunk if the array
  // has no element.
  [[nodiscard]] const Indices& counts() const { return counts_; }
  [[nodiscard]] std::int64_t chunks() const { return Box{counts_, counts_}.elements(); }

  // Return the coordinates of a chunk in the grid, and the number of the chunk at given
  // coordinates.
  [[nodiscard]] Indices coordinates(std::int64_t chunk) const;
  [[nodiscard]] std::int64_t number(const Indices& coordinates) const;
  // Return the box of the elements of a chunk.
  [[nodiscard]] Box box(const Indices& coordinates) const;
  [[nodiscard]] Box box(std::int64_t chunk) const { return box(coordinates(chunk)); }
  [[nodiscard]] std::int64_t chunk_of(const Indices& index) const;

  friend bool operator==(const ChunkGrid&, const ChunkGrid&) = default;

 private:
  ChunkGrid(const Shape& shape, const Indices& chunk_extents);

  Shape shape_;
  Indices chunk_extents_;
  Indices counts_;
};

// Iterates over the chunks that hold an element of a region, in ascending order. Other chunks cost
// no time: along each dimension, the next chunk is the one that holds the region's next index.
class ChunksMeeting {
 public:
  ChunksMeeting(const ChunkGrid& grid, const Region& region);
  // Returns false when no chunk is left.
  bool next(std::int64_t& chunk);

 private:
  // Moves along `dimension` to the chunk that holds the region's index at `position`.
  void enter(int dimension, std::int64_t position);

  ChunkGrid grid_;
  Region region_;
  Indices coordinates_;
  Indices next_position_;  // position of the region's first index after the current chunk
  bool done_ = false;
};

}  // namespace weir::array

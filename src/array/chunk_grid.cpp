#include "array/chunk_grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/number_theory.hpp"

namespace weir::array {

ChunkGrid::ChunkGrid(const Shape& shape, const Indices& chunk_extents)
    : shape_(shape), chunk_extents_(chunk_extents) {
  for (int d = 0; d < shape.dimensions(); ++d) {
    chunk_extents_[d] = std::min(chunk_extents[d], std::max<std::int64_t>(1, shape.extent(d)));
    counts_.push_back(divide_up(shape.extent(d), chunk_extents_[d]));
  }
}

Result<ChunkGrid> ChunkGrid::create(const Shape& shape, const Indices& chunk_extents) {
  if (chunk_extents.size() != shape.dimensions()) {
    return invalid_argument(fmt::format("chunks have {} dimensions, but the array has {}",
                                        chunk_extents.size(), shape.dimensions()));
  }
  for (int d = 0; d < shape.dimensions(); ++d) {
    if (chunk_extents[d] < 1) {
      return invalid_argument(fmt::format(
          "chunks have extent {} along dimension {}: give at least 1", chunk_extents[d], d));
    }
  }
  return ChunkGrid(shape, chunk_extents);
}

ChunkGrid ChunkGrid::natural(const RegularDistribution& distribution) {
  Indices blocks;
  for (int d = 0; d < distribution.shape().dimensions(); ++d) {
    blocks.push_back(distribution.along(d).block());
  }
  return {distribution.shape(), blocks};
}

Indices ChunkGrid::coordinates(std::int64_t chunk) const {
  Indices place(counts_.size());
  for (int d = counts_.size() - 1; d >= 0; --d) {
    place[d] = chunk % counts_[d];
    chunk /= counts_[d];
  }
  return place;
}

std::int64_t ChunkGrid::number(const Indices& coordinates) const {
  std::int64_t chunk = 0;
  for (int d = 0; d < counts_.size(); ++d) chunk = chunk * counts_[d] + coordinates[d];
  return chunk;
}

Box ChunkGrid::box(const Indices& coordinates) const {
  Box box;
  for (int d = 0; d < counts_.size(); ++d) {
    box.lower.push_back(coordinates[d] * chunk_extents_[d]);
    box.extent.push_back(std::min(chunk_extents_[d], shape_.extent(d) - box.lower[d]));
  }
  return box;
}

std::int64_t ChunkGrid::chunk_of(const Indices& index) const {
  Indices coordinates;
  for (int d = 0; d < counts_.size(); ++d) coordinates.push_back(index[d] / chunk_extents_[d]);
  return number(coordinates);
}

ChunksMeeting::ChunksMeeting(const ChunkGrid& grid, const Region& region)
    : grid_(grid),
      region_(region.clipped(grid.shape().box())),
      coordinates_(region.dimensions()),
      next_position_(region.dimensions()),
      done_(region_.empty()) {
  for (int d = 0; d < region_.dimensions() && !done_; ++d) enter(d, 0);
}

void ChunksMeeting::enter(int dimension, std::int64_t position) {
  const IndexBlocks& indices = region_.along(dimension);
  const std::int64_t extent = grid_.chunk_extents()[dimension];
  coordinates_[dimension] = indices.at(position) / extent;
  next_position_[dimension] = indices.position((coordinates_[dimension] + 1) * extent);
}

bool ChunksMeeting::next(std::int64_t& chunk) {
  if (done_) return false;
  chunk = grid_.number(coordinates_);
  for (int d = region_.dimensions() - 1; d >= 0; --d) {
    if (next_position_[d] < region_.along(d).size()) {
      enter(d, next_position_[d]);
      return true;
    }
    enter(d, 0);
  }
  done_ = true;
  return true;
}

}  // namespace weir::array

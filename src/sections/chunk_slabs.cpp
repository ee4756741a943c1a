#include "sections/chunk_slabs.hpp"

#include <algorithm>

#include "array/linear_range.hpp"
#include "array/odometer.hpp"
#include "common/checked.hpp"

namespace weir::storage {

Result<ChunkSlabs> ChunkSlabs::create(const ExtentMap& map, EncodedBlocks blocks) {
  const EncodedChunks& chunks = *map.encoded();
  const int dimensions = map.shape.dimensions();
  const Error too_long = invalid_argument("its chunks do not fit into 63 bits");
  const auto of_chunks = array::ChunkGrid::create(map.shape, chunks.stored_extents);
  if (!of_chunks || !(of_chunks.value() == chunks.grid)) {
    return invalid_argument("the grid of its chunks is not that of its shape");
  }
  array::Indices together(dimensions, 1);
  if (blocks == EncodedBlocks::shards) {
    together = std::get<EncodedShards>(chunks.places).chunks_per_shard;
  }
  const int slowest = array::dimension_at_depth(map.order, dimensions, 0);
  array::Indices block = chunks.stored_extents;
  for (int d = 0; d < dimensions; ++d) {
    const auto extent = checked_multiply(block[d], together[d]);
    if (!extent) return too_long;
    block[d] = *extent;
  }
  array::Indices slab = block;
  slab[slowest] = chunks.stored_extents[slowest];
  const auto grid = array::ChunkGrid::create(map.shape, block);
  const auto shape = array::Shape::create(slab);
  const auto layout = array::Layout::packed(slab, map.type.bytes(), map.order);
  const auto chunk_layout =
      array::Layout::packed(chunks.stored_extents, map.type.bytes(), map.order);
  const auto slot = bytes_of(block, map.type);
  if (!grid || !shape || !layout || !chunk_layout || !slot ||
      !checked_multiply(*slot, std::max<std::int64_t>(1, grid.value().chunks()))) {
    return too_long;
  }
  ChunkSlabs slabs(map, chunks.grid, grid.value(), shape.value(), layout.value(),
                   chunk_layout.value());
  slabs.chunk_extents_ = chunks.stored_extents;
  slabs.block_extents_ = block;
  slabs.chunks_per_block_ = together;
  slabs.slowest_ = slowest;
  slabs.bytes_ = bytes_of(slab, map.type).value();
  return slabs;
}

ExtentMap ChunkSlabs::view(const std::string& path) const {
  ExtentMap view{.shape = shape_,
                 .type = type_,
                 .order = order_,
                 .files = DataFiles::one(path),
                 .extents = {}};
  view.extents = ChunkExtents{blocks_, block_extents_, SlotsInTurn{1, 0, block_bytes()}};
  return view;
}

array::Box ChunkSlabs::inside(std::int64_t slab) const {
  const std::int64_t rows = chunks_per_block_[slowest_];
  const array::Indices block = blocks_.coordinates(slab / rows);
  array::Box inside{array::Indices(block.size()), slab_.extents()};
  for (int d = 0; d < block.size(); ++d) {
    std::int64_t lower = block[d] * block_extents_[d];
    if (d == slowest_) lower += slab % rows * chunk_extents_[d];
    inside.extent[d] = std::clamp<std::int64_t>(shape_.extent(d) - lower, 0, inside.extent[d]);
  }
  return inside;
}

std::vector<ChunkSlabs::Member> ChunkSlabs::members(std::int64_t slab) const {
  const std::int64_t rows = chunks_per_block_[slowest_];
  array::Indices first = blocks_.coordinates(slab / rows);  // coordinates of the first chunk
  for (int d = 0; d < first.size(); ++d) first[d] *= chunks_per_block_[d];
  first[slowest_] += slab % rows;
  array::Indices counts = chunks_per_block_;
  counts[slowest_] = 1;
  for (int d = 0; d < counts.size(); ++d) {
    counts[d] = std::min(counts[d], chunks_.counts()[d] - first[d]);
  }
  std::vector<Member> found;
  for (array::Odometer<> at(counts); at.valid(); at.advance()) {
    array::Indices coordinates = first;
    Member member{0,
                  array::Indices(first.size()),
                  {array::Indices(first.size()), array::Indices(first.size())}};
    for (int d = 0; d < first.size(); ++d) {
      coordinates[d] += at.digits()[d];
      member.origin[d] = at.digits()[d] * chunk_extents_[d];
      member.inside.extent[d] =
          std::min(chunk_extents_[d], shape_.extent(d) - coordinates[d] * chunk_extents_[d]);
    }
    member.inside.lower = member.origin;
    member.chunk = chunks_.number(coordinates);
    found.push_back(member);
  }
  return found;
}

std::vector<array::Box> ChunkSlabs::boxes(std::int64_t from, std::int64_t to) const {
  const std::int64_t element = type_.bytes();
  array::RangeBoxes range(slab_, order_, from / element, to / element);
  std::vector<array::Box> found;
  for (array::Box box; range.next(box);) found.push_back(box);
  return found;
}

}  // namespace weir::storage

#include "plan/piece_grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/linear_range.hpp"
#include "array/number_theory.hpp"
#include "array/odometer.hpp"

namespace weir::plan {
namespace {

using array::Box;
using array::Indices;
using array::Region;

// Places in an array of these extents, which need not be a Shape's.
std::int64_t number_in(const Indices& extents, array::Order order, const Indices& place) {
  std::int64_t number = 0;
  for (int depth = 0; depth < extents.size(); ++depth) {
    const int d = array::dimension_at_depth(order, extents.size(), depth);
    number = number * extents[d] + place[d];
  }
  return number;
}

Indices place_in(const Indices& extents, array::Order order, std::int64_t number) {
  Indices place(extents.size());
  for (int depth = extents.size() - 1; depth >= 0; --depth) {
    const int d = array::dimension_at_depth(order, extents.size(), depth);
    place[d] = number % extents[d];
    number /= extents[d];
  }
  return place;
}

}  // namespace

Result<PieceGrid> PieceGrid::create(const array::ChunkGrid& chunks, std::int64_t element_bytes,
                                    array::Order order, std::int64_t piece_bytes) {
  std::int64_t room = piece_bytes / element_bytes;
  if (room < 1) {
    return invalid_argument(fmt::format(
        "a buffer of {} bytes for elements of {}: give at least one", piece_bytes, element_bytes));
  }
  PieceGrid grid(chunks, element_bytes, order);
  const Indices& extents = chunks.chunk_extents();
  const int dimensions = extents.size();
  grid.slab_ = Indices(dimensions, 1);
  grid.slabs_ = Indices(dimensions, 1);
  for (int depth = dimensions - 1; depth >= 0; --depth) {
    const int d = array::dimension_at_depth(order, dimensions, depth);
    const std::int64_t extent = std::max<std::int64_t>(1, extents[d]);
    const std::int64_t count = array::divide_up(extent, std::max<std::int64_t>(1, room));
    grid.slab_[d] = array::divide_up(extent, count);
    grid.slabs_[d] = array::divide_up(extent, grid.slab_[d]);
    grid.pieces_per_chunk_ *= grid.slabs_[d];
    room = grid.slabs_[d] > 1 ? 1 : room / extent;
  }
  return grid;
}

Box PieceGrid::box(std::int64_t piece) const {
  const Box chunk = chunks_.box(chunk_of(piece));
  const Indices place = place_in(slabs_, order_, piece % pieces_per_chunk_);
  Box box = chunk;
  for (int d = 0; d < box.dimensions(); ++d) {
    const std::int64_t inside = std::min(place[d] * slab_[d], chunk.extent[d]);
    box.lower[d] += inside;
    box.extent[d] = std::min(slab_[d], chunk.extent[d] - inside);
  }
  return box;
}

std::int64_t PieceGrid::byte_in_chunk(std::int64_t piece) const {
  const Box chunk = chunks_.box(chunk_of(piece));
  Indices inside = box(piece).lower;
  for (int d = 0; d < inside.size(); ++d) inside[d] -= chunk.lower[d];
  return number_in(chunk.extent, order_, inside) * element_bytes_;
}

array::Layout PieceGrid::buffer_layout(const Box& box) const {
  return array::Layout::packed(box.extent, element_bytes_, order_).value();
}

std::int64_t PieceGrid::piece_at(const Indices& index) const {
  const std::int64_t chunk = chunks_.chunk_of(index);
  const Box box = chunks_.box(chunk);
  Indices place;
  for (int d = 0; d < index.size(); ++d) place.push_back((index[d] - box.lower[d]) / slab_[d]);
  return chunk * pieces_per_chunk_ + number_in(slabs_, order_, place);
}

void PieceGrid::append_in_chunk(const Region& region, std::int64_t chunk,
                                std::vector<std::int64_t>& pieces) const {
  const Box box = chunks_.box(chunk);
  const Region inside = region.clipped(box);
  if (inside.empty()) return;
  const int dimensions = box.dimensions();
  // Along each dimension the slabs that hold an index; by depth, so that the odometer counts in
  // the order of the file.
  array::PerDimension<std::vector<std::int64_t>> slabs;
  array::Odometer<>::Counts counts;
  for (int depth = 0; depth < dimensions; ++depth) {
    const int d = array::dimension_at_depth(order_, dimensions, depth);
    const array::IndexBlocks& along = inside.along(d);
    slabs.push_back({});
    for (std::int64_t position = 0; position < along.size();) {
      const std::int64_t slab = (along.at(position) - box.lower[d]) / slab_[d];
      slabs.back().push_back(slab);
      position = along.position(box.lower[d] + (slab + 1) * slab_[d]);
    }
    counts.push_back(static_cast<std::int64_t>(slabs.back().size()));
  }
  for (array::Odometer<> choice(counts); choice.valid(); choice.advance()) {
    std::int64_t number = 0;
    for (int depth = 0; depth < dimensions; ++depth) {
      const int d = array::dimension_at_depth(order_, dimensions, depth);
      number = number * slabs_[d] + slabs[depth][static_cast<std::size_t>(choice.digits()[depth])];
    }
    pieces.push_back(chunk * pieces_per_chunk_ + number);
  }
}

void PieceGrid::append_meeting(const Region& region, std::vector<std::int64_t>& pieces) const {
  if (region.empty()) return;
  array::ChunksMeeting chunks(chunks_, region);
  for (std::int64_t chunk = 0; chunks.next(chunk);) append_in_chunk(region, chunk, pieces);
}

void PieceGrid::append_meeting_dealt(const Region& region, std::int64_t modulus,
                                     std::int64_t remainder,
                                     std::vector<std::int64_t>& pieces) const {
  if (region.empty()) return;
  array::ChunksMeeting chunks(chunks_, region);
  for (std::int64_t chunk = 0; chunks.next(chunk);) {
    if (chunk % modulus == remainder) append_in_chunk(region, chunk, pieces);
  }
}

void PieceGrid::append_meeting_range(const Region& region, std::int64_t first, std::int64_t last,
                                     std::vector<std::int64_t>& pieces) const {
  const auto slabs = array::Shape::create(slabs_);
  if (region.empty() || !slabs || first >= last) return;
  array::RangeBoxes boxes(slabs.value(), order_, first, last);
  for (Box of_slabs; boxes.next(of_slabs);) {
    Box box = of_slabs;
    for (int d = 0; d < box.dimensions(); ++d) {
      box.lower[d] = std::min(of_slabs.lower[d] * slab_[d], chunks_.shape().extent(d));
      box.extent[d] =
          std::min(of_slabs.upper(d) * slab_[d], chunks_.shape().extent(d)) - box.lower[d];
    }
    append_in_chunk(region.clipped(box), 0, pieces);
  }
}

}  // namespace weir::plan

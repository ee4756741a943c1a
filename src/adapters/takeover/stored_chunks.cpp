#include "adapters/takeover/stored_chunks.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <variant>

#include "array/chunk_grid.hpp"
#include "array/fingerprint.hpp"
#include "array/index_blocks.hpp"
#include "common/checked.hpp"

namespace weir::mpiio {
namespace {

constexpr auto last_offset = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Returns nothing if a number is too large for Weir.
std::optional<array::Indices> indices_of(const std::uint64_t* numbers, int dimensions) {
  array::Indices found;
  for (const std::uint64_t number : std::span(numbers, static_cast<std::size_t>(dimensions))) {
    if (number > last_offset) return std::nullopt;
    found.push_back(static_cast<std::int64_t>(number));
  }
  return found;
}

// Returns nothing if blocks overlap, or if a number is too large for Weir.
std::optional<array::IndexBlocks> blocks_of(std::int64_t start, std::int64_t count,
                                            std::int64_t stride, std::int64_t block) {
  if (count == 0 || block == 0) return array::IndexBlocks();
  if (count == 1) stride = block;
  const auto before = checked_multiply(count - 1, stride);
  const auto last = before ? checked_add(start, *before) : std::nullopt;
  const auto end = last ? checked_add(*last, block) : std::nullopt;
  if (!end || stride < block) return std::nullopt;
  return array::IndexBlocks::periodic(start, block, stride, *end);
}

}  // namespace

std::unique_ptr<StoredChunks> StoredChunks::create(const ChunkedShape& shape) {
  if (shape.dimensions < 1 || shape.dimensions > array::max_dimensions) return nullptr;
  const auto extents = indices_of(shape.extents, shape.dimensions);
  const auto stored = indices_of(shape.chunk_extents, shape.dimensions);
  const auto type = array::ElementType::record(shape.element_bytes);
  if (!extents || !stored || !type) return nullptr;
  const auto whole = array::Shape::create(*extents);
  if (!whole || !whole.value().bytes(type.value())) return nullptr;
  const auto grid = array::ChunkGrid::create(whole.value(), *stored);
  const auto bytes = storage::bytes_of(*stored, type.value());
  if (!grid || !bytes) return nullptr;
  return std::make_unique<StoredChunks>(
      storage::ExtentMap{
          .shape = whole.value(),
          .type = type.value(),
          .files = storage::DataFiles::one(""),
          .extents =
              storage::ChunkExtents{.grid = grid.value(), .stored_extents = stored, .places = {}}},
      *bytes);
}

bool StoredChunks::add(const std::uint64_t* corner, std::int64_t offset) {
  const array::ChunkGrid& grid = extents().grid;
  const auto index = indices_of(corner, grid.shape().dimensions());
  const auto end = checked_add(offset, chunk_bytes_);
  if (!index || !end || offset < 0) return false;
  array::Indices coordinates;
  for (int d = 0; d < index->size(); ++d) {
    coordinates.push_back((*index)[d] / (*extents().stored_extents)[d]);
    if (coordinates[d] >= grid.counts()[d]) return true;
  }
  if (added_.size() == most_chunks) return false;
  added_.push_back({grid.number(coordinates), offset});
  end_ = std::max(end_, *end);
  return true;
}

void StoredChunks::end() {
  std::ranges::sort(added_, {}, &Chunk::number);
  added_.erase(
      std::unique(added_.begin(), added_.end(),
                  [](const Chunk& one, const Chunk& next) { return one.number == next.number; }),
      added_.end());
  array::Fingerprint known;
  known.add(map_.shape.extents());
  known.add(*extents().stored_extents);
  known.add(map_.type.bytes());
  std::vector<array::ChunkTable::Run> runs;
  for (const Chunk& chunk : added_) {
    array::ChunkTable::add(runs, chunk.number, {0, chunk.offset});
    known.add(chunk.number);
    known.add(chunk.offset);
  }
  chunks_ = std::ssize(added_);
  added_ = {};
  std::get<storage::ChunkExtents>(map_.extents).places = array::ChunkTable::of(runs);
  fingerprint_ = known.value();
}

bool StoredChunks::are_all() const { return chunks_ == extents().grid.chunks(); }

std::optional<array::Region> StoredChunks::region_of(const ChunkedBlocks& given) const {
  const array::Shape& shape = map_.shape;
  const auto start = indices_of(given.start, shape.dimensions());
  const auto count = indices_of(given.count, shape.dimensions());
  const auto stride = indices_of(given.stride, shape.dimensions());
  const auto block = indices_of(given.block, shape.dimensions());
  if (!start || !count || !stride || !block) return std::nullopt;
  array::PerDimension<array::IndexBlocks> along;
  for (int d = 0; d < shape.dimensions(); ++d) {
    const auto blocks = blocks_of((*start)[d], (*count)[d], (*stride)[d], (*block)[d]);
    if (!blocks || blocks->upper() > shape.extents()[d]) return std::nullopt;
    along.push_back(*blocks);
  }
  return array::Region(along);
}

std::int64_t StoredChunks::bytes_of(const array::Region& region) const {
  return region.elements() * map_.type.bytes();  // as many as the array has, at most
}

std::optional<std::int64_t> StoredChunks::end_of(const array::Region& region) const {
  if (region.empty()) return 0;
  if (are_all()) return end_;
  std::int64_t end = 0;
  array::ChunksMeeting meeting(extents().grid, region);
  for (std::int64_t chunk = 0; meeting.next(chunk);) {
    const auto place = extents().place_of(chunk);
    if (!place) return std::nullopt;
    end = std::max(end, place->offset + chunk_bytes_);
  }
  return end;
}

}  // namespace weir::mpiio

#include "aggregation/step_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "array/chunk_grid.hpp"

namespace weir::aggregation {
namespace {

using array::Indices;

// Returns the extents without dimension 0; {1} if there are no others, so that a step has a shape.
Indices without_first(const Indices& extents) {
  Indices rest;
  for (int d = 1; d < extents.size(); ++d) rest.push_back(extents[d]);
  if (rest.empty()) rest.push_back(1);
  return rest;
}

std::int64_t product(const Indices& extents) {
  std::int64_t all = 1;
  for (const std::int64_t extent : extents) all *= extent;
  return all;
}

// Splits an offset into a base, which is a multiple of `alignment`, and a rest.
void split(std::int64_t& offset, std::int64_t alignment, std::int64_t& base) {
  base = offset - offset % alignment;
  offset -= base;
}

Result<StepImage> dense_image(const storage::ExtentMap& map, const array::Shape& shape,
                              std::int64_t offset, std::int64_t alignment) {
  std::int64_t base = 0;
  split(offset, alignment, base);
  const auto image = plan::FileImage::create(shape, map.type, map.order, offset);
  if (!image) return image.error();
  return StepImage{image.value(), 0, base};
}

// The row of chunks, along dimension 0 of the grid, that contains a step.
struct ChunkRow {
  std::int64_t first_chunk = 0;
  std::int64_t chunks = 0;
  std::int64_t number = 0;  // number of the row
  std::int64_t inside = 0;  // offset in bytes of the step's part in each chunk
};

// Returns the places of the row's chunks in a grid of their own; sets first_file and the number of
// files.
Result<array::ChunkPlaces> places_of(const storage::ChunkExtents& whole, const ChunkRow& row,
                                     std::int64_t& first_file, std::int64_t& files) {
  files = 1;
  if (const auto* slots = std::get_if<array::SlotsInTurn>(&whole.places)) {
    array::SlotsInTurn of_row = *slots;
    of_row.offset += row.inside;
    if (slots->files == 1) {
      of_row.offset += row.first_chunk * slots->slot_bytes;
    } else if (slots->files == whole.grid.chunks() && slots->turn == 0) {
      first_file = row.first_chunk;  // each chunk is a separate file
      files = of_row.files = row.chunks;
    } else {
      return Error(ErrorCode::unsupported,
                   "an array that grows has its chunks in several files in turn");
    }
    return array::ChunkPlaces(of_row);
  }
  if (const auto* shards = std::get_if<array::ShardSlots>(&whole.places)) {
    array::ShardSlots of_row = *shards;
    of_row.chunks_per_shard = without_first(shards->chunks_per_shard);
    of_row.shards = without_first(shards->shards);
    const std::int64_t rows = shards->chunks_per_shard[0];
    of_row.offset += row.number % rows * product(of_row.chunks_per_shard) * shards->slot_bytes;
    of_row.offset += row.inside;
    files = product(of_row.shards);
    first_file = row.number / rows * files;
    return array::ChunkPlaces(of_row);
  }
  const auto table =
      std::get<array::ChunkTable>(whole.places).part(row.first_chunk, row.chunks, row.inside);
  // Chunks at equal distances need no table, which would change with every step.
  const auto first = table.first_run();
  if (first && first->first == 0 && first->chunks == row.chunks && first->distance >= 0 &&
      first->place.file == 0) {
    return array::ChunkPlaces(array::SlotsInTurn{1, first->place.offset, first->distance, 0});
  }
  files = table.files();
  return array::ChunkPlaces(table);
}

Result<StepImage> chunked_image(const storage::ExtentMap& map, const array::ChunkGrid& grid,
                                array::ChunkPlaces places,
                                const std::optional<Indices>& stored_extents,
                                std::int64_t first_file, std::int64_t files, std::int64_t alignment,
                                Chunks chunks) {
  // A single chunk is dense, and may be divided among aggregators.
  if (grid.chunks() == 1 && chunks == Chunks::may_be_shared &&
      (!stored_extents || *stored_extents == grid.shape().extents())) {
    if (const auto place = array::place_of(places, grid, 0)) {
      auto image = dense_image(map, grid.shape(), place->offset, alignment);
      if (image) image.value().first_file = first_file + place->file;
      return image;
    }
  }
  std::int64_t base = 0;
  if (auto* slots = std::get_if<array::SlotsInTurn>(&places)) split(slots->offset, alignment, base);
  auto image =
      plan::ChunkedImage::at(grid, map.type, map.order, std::move(places), files, stored_extents);
  if (!image) return image.error();
  return StepImage{std::move(image).value(), first_file, base};
}

Result<StepImage> step_of_chunks(const storage::ExtentMap& map, const storage::ChunkExtents& chunks,
                                 std::int64_t step, std::int64_t alignment, Chunks kept) {
  const Indices& extents = chunks.grid.chunk_extents();
  const auto grid = array::ChunkGrid::create(step_shape(map.shape), without_first(extents));
  if (!grid) return grid.error();
  // A chunk is packed in row-major order, so its part of one step is contiguous.
  const Indices stored = without_first(chunks.stored_extents ? *chunks.stored_extents : extents);
  const bool several_steps = extents[0] > 1;
  if (several_steps && !chunks.stored_extents) {
    return Error(ErrorCode::unsupported,
                 "chunks of several steps that are packed at the array's edges");
  }
  ChunkRow row;
  row.number = step / extents[0];
  row.chunks = grid.value().chunks();
  row.first_chunk = row.number * row.chunks;
  row.inside = step % extents[0] * product(stored) * map.type.bytes();
  std::int64_t first_file = 0;
  std::int64_t files = 1;
  auto places = places_of(chunks, row, first_file, files);
  if (!places) return places.error();
  return chunked_image(map, grid.value(), std::move(places).value(),
                       chunks.stored_extents ? std::optional(stored) : std::nullopt, first_file,
                       files, alignment, kept);
}

}  // namespace

array::Shape step_shape(const array::Shape& whole) {
  return array::Shape::create(without_first(whole.extents())).value();  // smaller, so it fits
}

Result<StepImage> image_of(const storage::ExtentMap& map, std::optional<std::int64_t> step,
                           std::int64_t alignment, Chunks kept) {
  if (map.encoded() != nullptr) {
    return Error(ErrorCode::unsupported, "encoded chunks have no image: only decoded ones have");
  }
  if (!step) {
    if (const auto* dense = map.dense()) {
      return dense_image(map, map.shape, dense->offset, alignment);
    }
    if (const auto* chunks = map.chunks()) {
      return chunked_image(map, chunks->grid, chunks->places, chunks->stored_extents, 0,
                           map.files.files(), alignment, kept);
    }
    return invalid_argument("an array with steps is moved step by step: select a step");
  }
  if (*step < 0 || *step >= map.shape.extent(0)) {
    return invalid_argument(
        fmt::format("step {} of an array of {} steps", *step, map.shape.extent(0)));
  }
  if (map.order != array::Order::row_major) {
    return invalid_argument("steps of an array that is stored in column-major order");
  }
  const array::Shape shape = step_shape(map.shape);
  if (const auto* records = map.records()) {
    return dense_image(map, shape, records->offset + *step * records->stride, alignment);
  }
  if (const auto* dense = map.dense()) {
    const std::int64_t bytes = shape.elements() * map.type.bytes();
    return dense_image(map, shape, dense->offset + *step * bytes, alignment);
  }
  return step_of_chunks(map, *map.chunks(), *step, alignment, kept);
}

std::optional<std::int64_t> place_of_step(const storage::ExtentMap& map, bool grows,
                                          std::optional<std::int64_t> step) {
  if (map.files.files() != 1) return std::nullopt;
  if (!grows) return map.dense() == nullptr ? std::nullopt : std::optional(map.dense()->offset);
  const auto* const records = map.records();
  if (records == nullptr || !step || map.order != array::Order::row_major || *step < 0 ||
      *step >= map.shape.extent(0)) {
    return std::nullopt;
  }
  return records->offset + *step * records->stride;
}

}  // namespace weir::aggregation

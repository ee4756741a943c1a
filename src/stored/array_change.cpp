#include "stored/array_change.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "array/number_theory.hpp"

namespace weir::storage {
namespace {

const array::ChunkGrid* grid_of(const ExtentMap& map) {
  if (const ChunkExtents* const chunks = map.chunks()) return &chunks->grid;
  if (const EncodedChunks* const encoded = map.encoded()) return &encoded->grid;
  return nullptr;
}

bool longer_alike(const DenseExtents& a, const DenseExtents& b) { return a == b; }
bool longer_alike(const RecordExtents& a, const RecordExtents& b) { return a == b; }

bool longer_alike(const ChunkExtents& a, const ChunkExtents& b) {
  if (a.stored_extents != b.stored_extents || a.places.index() != b.places.index()) return false;
  if (!a.stored_extents && a.grid.chunk_extents() != b.grid.chunk_extents()) return false;
  return std::holds_alternative<ChunkTable>(a.places) || a.places == b.places;
}

bool longer_alike(const EncodedChunks& a, const EncodedChunks& b) {
  if (a.stored_extents != b.stored_extents || a.pipeline != b.pipeline) return false;
  if (a.places.index() != b.places.index()) return false;
  return std::holds_alternative<EncodedTable>(a.places) || a.places == b.places;
}

// Returns whether the maps differ only in extents along dimension 0 and in the places in tables.
bool longer_alike(const ExtentMap& a, const ExtentMap& b) {
  const array::Indices& before = a.shape.extents();
  const array::Indices& after = b.shape.extents();
  if (before.empty() || before.size() != after.size()) return false;
  if (!std::equal(before.begin() + 1, before.end(), after.begin() + 1)) return false;
  if (!(a.type == b.type) || a.order != b.order || a.byte_order != b.byte_order) return false;
  if (!(a.files == b.files) || a.extents.index() != b.extents.index()) return false;
  return std::visit(
      [&](const auto& extents) {
        return longer_alike(extents, std::get<std::decay_t<decltype(extents)>>(b.extents));
      },
      a.extents);
}

}  // namespace

Result<array::Shape> with_steps(const array::Shape& shape, std::int64_t steps) {
  array::Indices extents = shape.extents();
  extents[0] = steps;
  return array::Shape::create(extents);
}

std::int64_t chunks_of_steps(const array::ChunkGrid& grid, std::int64_t steps) {
  if (grid.chunks() == 0) return 0;
  const std::int64_t rows = array::divide_up(steps, grid.chunk_extents()[0]);
  return std::min(grid.chunks(), rows * (grid.chunks() / grid.counts()[0]));
}

ArrayChange change_of(const ExtentMap& before, const ExtentMap& after, bool grows,
                      std::int64_t steps) {
  if (!grows) return before == after ? ArrayChange(ArrayKept{}) : ArrayMoved{after};
  if (!longer_alike(before, after)) return ArrayMoved{after};
  ArrayGrown grown{.steps = after.shape.extent(0)};
  const array::ChunkGrid* const grid = grid_of(after);
  if (grid == nullptr) return grown;
  grown.chunk_extents = grid->chunk_extents();
  grown.from_chunk = chunks_of_steps(*grid, steps);
  if (const ChunkExtents* const chunks = after.chunks()) {
    if (const auto* const table = std::get_if<ChunkTable>(&chunks->places)) {
      grown.runs = table->part(grown.from_chunk, grid->chunks() - grown.from_chunk).runs();
    }
  } else if (const auto* const table = std::get_if<EncodedTable>(&after.encoded()->places)) {
    grown.entries = table->entries(grown.from_chunk);
  }
  return grown;
}

namespace {

void grow(const ArrayGrown& grown, ExtentMap& map) {
  // The change comes from rank 0, so the number of steps is valid.
  map.shape = with_steps(map.shape, grown.steps).value();
  if (grown.chunk_extents.empty()) return;
  const auto grid = array::ChunkGrid::create(map.shape, grown.chunk_extents).value();
  if (auto* const chunks = std::get_if<ChunkExtents>(&map.extents)) {
    chunks->grid = grid;
    if (auto* const table = std::get_if<ChunkTable>(&chunks->places)) {
      table->cut(grown.from_chunk);
      table->append(grown.runs, grown.from_chunk);
    }
  } else if (auto* const encoded = std::get_if<EncodedChunks>(&map.extents)) {
    encoded->grid = grid;
    if (auto* const table = std::get_if<EncodedTable>(&encoded->places)) {
      table->cut(grown.from_chunk);
      table->put(grown.entries);
    }
  }
}

}  // namespace

void apply(const ArrayChange& change, ExtentMap& map) {
  if (const auto* const grown = std::get_if<ArrayGrown>(&change)) grow(*grown, map);
  if (const auto* const moved = std::get_if<ArrayMoved>(&change)) {
    ExtentMap there = moved->map;
    const KnownFile* const known = map.files.known();
    if (known != nullptr && map.files.files() > 0 && there.files.files() > 0 &&
        known->path == map.files.path(0) && !(there.files == map.files)) {
      // A renaming that a killed run left undone has been completed: this is the same file.
      there.files.set_known(
          std::make_shared<const KnownFile>(KnownFile{there.files.path(0), known->identity}));
    } else {
      there.files.set_known_of(map.files);
    }
    map = std::move(there);
  }
}

}  // namespace weir::storage

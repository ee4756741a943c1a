#include "checksums/array_places.hpp"

#include <algorithm>
#include <tuple>

namespace weir::storage {
namespace {

void add_chunks(const ExtentMap& map, const ChunkExtents& chunks, std::optional<std::int64_t> step,
                std::vector<ArrayPlaces::Place>& places) {
  const array::Indices& counts = chunks.grid.counts();
  std::int64_t per_row = 1;
  for (int d = 1; d < counts.size(); ++d) per_row *= counts[d];
  const std::int64_t rows = chunks.grid.chunk_extents()[0];
  const std::int64_t first = step ? *step / rows * per_row : 0;
  const std::int64_t last = step ? first + per_row : chunks.grid.chunks();
  for (std::int64_t chunk = first; chunk < last; ++chunk) {
    const auto place = chunks.place_of(chunk);
    if (!place) continue;
    const array::Indices extents = chunks.extents_of(chunk);
    const std::int64_t row = row_bytes(extents, map.type);
    const std::int64_t begin = place->offset + (step ? *step % rows * row : 0);
    places.push_back({place->file, begin, begin + (step ? row : extents[0] * row)});
  }
}

}  // namespace

std::int64_t row_bytes(const array::Indices& extents, const array::ElementType& type) {
  std::int64_t bytes = type.bytes();
  for (int d = 1; d < extents.size(); ++d) bytes *= extents[d];
  return bytes;
}

ArrayPlaces ArrayPlaces::of(const ExtentMap& map, std::optional<std::int64_t> step) {
  ArrayPlaces found;
  if (map.encoded() != nullptr || map.shape.elements() == 0) return found;
  const std::int64_t row = row_bytes(map.shape.extents(), map.type);
  const std::int64_t rows = map.shape.extent(0);
  std::vector<Place>& places = found.places_;
  if (const auto* dense = map.dense()) {
    const std::int64_t begin = dense->offset + step.value_or(0) * row;
    places.push_back({0, begin, begin + (step ? row : rows * row)});
  } else if (const auto* records = map.records()) {
    for (std::int64_t i = step.value_or(0); i < (step ? *step + 1 : rows); ++i) {
      const std::int64_t begin = records->offset + i * records->stride;
      places.push_back({0, begin, begin + row});
    }
  } else {
    add_chunks(map, *map.chunks(), step, places);
  }
  const auto order = [](const Place& a, const Place& b) {
    return std::tuple(a.file, a.begin) < std::tuple(b.file, b.begin);
  };
  if (!std::is_sorted(places.begin(), places.end(), order)) {
    std::sort(places.begin(), places.end(), order);
  }
  std::size_t kept = 0;
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].file == places[kept].file && places[i].begin <= places[kept].end) {
      places[kept].end = std::max(places[kept].end, places[i].end);
    } else {
      places[++kept] = places[i];
    }
  }
  if (!places.empty()) places.resize(kept + 1);
  return found;
}

void ArrayPlaces::for_each_in(std::int64_t file, std::int64_t begin, std::int64_t end,
                              const std::function<void(std::int64_t, std::int64_t)>& visit) const {
  auto at = std::upper_bound(places_.begin(), places_.end(), std::tuple(file, begin),
                             [](const auto& wanted, const Place& place) {
                               return wanted < std::tuple(place.file, place.end);
                             });
  for (; at != places_.end() && at->file == file && at->begin < end; ++at) {
    visit(std::max(begin, at->begin), std::min(end, at->end));
  }
}

}  // namespace weir::storage

#include "storage/formats/extent_map.hpp"

#include <fmt/format.h>

#include <utility>

#include "common/checked.hpp"

namespace weir::storage {
namespace {

// The number of an element in a packed box of these extents.
std::int64_t number_in(const array::Indices& extents, const array::Indices& index,
                       array::Order order) {
  std::int64_t number = 0;
  for (int depth = 0; depth < extents.size(); ++depth) {
    const int d = array::dimension_at_depth(order, extents.size(), depth);
    number = number * extents[d] + index[d];
  }
  return number;
}

}  // namespace

DataFiles DataFiles::one(std::string path) { return {std::move(path), 1}; }

DataFiles DataFiles::numbered(std::string prefix, std::int64_t files) {
  DataFiles made(std::move(prefix), files);
  made.numbered_ = true;
  return made;
}

DataFiles DataFiles::in_grid(std::string prefix, const array::Indices& counts, char separator) {
  DataFiles made(std::move(prefix), array::Box{counts, counts}.elements());
  made.counts_ = counts;
  made.separator_ = separator;
  return made;
}

std::string DataFiles::path(std::int64_t file) const {
  if (numbered_) return fmt::format("{}.{}", prefix_, file);
  if (counts_.empty()) return prefix_;
  array::Indices coordinates(counts_.size());
  for (int d = counts_.size() - 1; d >= 0; --d) {
    coordinates[d] = file % counts_[d];
    file /= counts_[d];
  }
  std::string path = prefix_;
  for (int d = 0; d < coordinates.size(); ++d) {
    if (d > 0) path += separator_;
    path += std::to_string(coordinates[d]);
  }
  return path;
}

DataFiles DataFiles::renamed(const std::string& from, const std::string& to) const {
  DataFiles made = *this;
  if (prefix_.starts_with(from)) made.prefix_ = to + prefix_.substr(from.size());
  return made;
}

std::optional<ExtentPlace> ChunkExtents::place_of(std::int64_t chunk) const {
  return array::place_of(places, grid, chunk);
}

array::Indices ChunkExtents::extents_of(std::int64_t chunk) const {
  return stored_extents ? *stored_extents : grid.box(chunk).extent;
}

std::optional<ExtentPlace> ExtentMap::place_of(const array::Indices& index) const {
  if (const DenseExtents* const whole = dense()) {
    return ExtentPlace{0, whole->offset + number_in(shape.extents(), index, order) * type.bytes()};
  }
  if (const RecordExtents* const steps = records()) {
    array::Indices record = shape.extents();
    array::Indices inside = index;
    record[0] = 1;
    inside[0] = 0;
    return ExtentPlace{0, steps->offset + index[0] * steps->stride +
                              number_in(record, inside, order) * type.bytes()};
  }
  if (encoded() != nullptr) return std::nullopt;
  const ChunkExtents& in_chunks = *chunks();
  const std::int64_t chunk = in_chunks.grid.chunk_of(index);
  auto place = in_chunks.place_of(chunk);
  if (!place) return place;
  const array::Box box = in_chunks.grid.box(chunk);
  array::Indices inside = index;
  for (int d = 0; d < inside.size(); ++d) inside[d] -= box.lower[d];
  place->offset += number_in(in_chunks.extents_of(chunk), inside, order) * type.bytes();
  return place;
}

std::int64_t bytes_swapped_together(const array::ElementType& type) {
  switch (type.kind()) {
    case array::ElementKind::complex64:
    case array::ElementKind::complex128:
      return type.bytes() / 2;
    case array::ElementKind::record:
      return 1;
    default:
      return type.bytes();
  }
}

std::optional<std::int64_t> bytes_of(const array::Indices& extents,
                                     const array::ElementType& type) {
  std::optional<std::int64_t> bytes = type.bytes();
  for (const std::int64_t extent : extents) {
    if (bytes) bytes = checked_multiply(*bytes, extent);
  }
  return bytes;
}

}  // namespace weir::storage

#include "stored/extent_map.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "common/checked.hpp"

namespace weir::storage {
namespace {

// Returns the number of an element in a packed box of these extents.
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

DataFiles DataFiles::one(std::string path) { return of({.prefix = std::move(path)}); }

DataFiles DataFiles::numbered(std::string prefix, std::int64_t files,
                              std::vector<std::string> directories) {
  return of({.prefix = std::move(prefix),
             .files = files,
             .numbered = true,
             .directories = std::move(directories)});
}

DataFiles DataFiles::in_grid(std::string prefix, const array::Indices& counts, char separator) {
  return of({.prefix = std::move(prefix),
             .files = array::Box{counts, counts}.elements(),
             .counts = counts,
             .separator = separator});
}

std::string DataFiles::path(std::int64_t file) const {
  if (parts_.numbered) {
    std::string beside = fmt::format("{}.{}", parts_.prefix, file);
    if (parts_.directories.empty()) return beside;
    const auto turn = file % static_cast<std::int64_t>(parts_.directories.size());
    const std::filesystem::path place(beside);
    // An absolute directory replaces the folder to which it is joined.
    return (place.parent_path() / parts_.directories[static_cast<std::size_t>(turn)] /
            place.filename())
        .string();
  }
  const array::Indices& counts = parts_.counts;
  if (counts.empty() || parts_.files == 0) return parts_.prefix;
  array::Indices coordinates(counts.size());
  for (int d = counts.size() - 1; d >= 0; --d) {
    coordinates[d] = file % counts[d];
    file /= counts[d];
  }
  std::string path = parts_.prefix;
  for (int d = 0; d < coordinates.size(); ++d) {
    if (d > 0) path += parts_.separator;
    path += std::to_string(coordinates[d]);
  }
  return path;
}

DataFiles DataFiles::renamed(const std::string& from, const std::string& to) const {
  DataFiles made = *this;
  if (parts_.prefix.starts_with(from)) {
    made.parts_.prefix = to + parts_.prefix.substr(from.size());
  }
  if (known_ != nullptr && known_->path.starts_with(from)) {
    made.known_ = std::make_shared<const KnownFile>(
        KnownFile{to + known_->path.substr(from.size()), known_->identity});
  }
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

std::int64_t ExtentMap::swapped_together() const {
  return byte_order == ByteOrder::big ? bytes_swapped_together(type) : 1;
}

std::int64_t bytes_swapped_together(const array::ElementType& type) {
  switch (type.kind()) {
    case array::ElementKind::complex64:
    case array::ElementKind::complex128:
      return type.bytes() / 2;
    case array::ElementKind::record:
    case array::ElementKind::text:
      return 1;
    case array::ElementKind::utf32:
      return sizeof(char32_t);
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

#include "checksums/block_owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include "checksums/array_places.hpp"

namespace weir::storage {
namespace {

// Maximum number of stretches that are kept in memory; the metadata of a file may claim 2^40.
constexpr std::int64_t most_stretches = std::int64_t{1} << 20U;

std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

std::optional<std::string> name_below(const std::string& path, const std::string& data_file) {
  const std::string_view prefix = without_slashes(path);
  std::string_view name = data_file;
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  while (name.starts_with("//")) name.remove_prefix(1);
  return std::string(name);
}

BlockOwners::BlockOwners(const FileMap& map, std::string path) : map_(map), path_(std::move(path)) {
  for (std::size_t array = 0; array < map_.arrays.size(); ++array) add(array);
  std::sort(stretches_.begin(), stretches_.end(), [](const Stretch& a, const Stretch& b) {
    return std::tuple(a.name, a.begin) < std::tuple(b.name, b.begin);
  });
}

void BlockOwners::add(std::size_t array) {
  const ExtentMap& map = map_.arrays[array].map;
  if (map.encoded() != nullptr || map.shape.elements() == 0) return;
  const std::int64_t rows = map.shape.extent(0);
  const std::int64_t row = row_bytes(map.shape.extents(), map.type);
  Stretch one{.array = array, .distance = row, .row = row};
  if (const auto* const dense = map.dense()) {
    one.begin = dense->offset;
    one.end = one.begin + rows * row;
    return add(one);
  }
  if (const auto* const records = map.records()) {
    one.begin = records->offset;
    one.distance = std::max(records->stride, row);
    one.end = one.begin + (rows - 1) * one.distance + row;
    return add(one);
  }
  const ChunkExtents& chunks = *map.chunks();
  if (chunks.grid.chunks() > most_stretches - static_cast<std::int64_t>(stretches_.size())) {
    knows_all_ = false;
    return;
  }
  for (std::int64_t chunk = 0; chunk < chunks.grid.chunks(); ++chunk) {
    const auto place = chunks.place_of(chunk);
    if (!place) continue;
    const array::Indices extents = chunks.extents_of(chunk);
    one.file = place->file;
    one.begin = place->offset;
    one.distance = one.row = row_bytes(extents, map.type);
    one.end = one.begin + extents[0] * one.row;
    one.step = chunks.grid.box(chunk).lower[0];
    add(one);
  }
}

void BlockOwners::add(Stretch stretch) {
  const auto name = name_below(path_, map_.arrays[stretch.array].map.files.path(stretch.file));
  if (!name) return;
  stretch.name = std::hash<std::string>()(*name);
  (stretch.distance > stretch.row ? pieces_ : stretches_).push_back(stretch);
}

std::optional<BlockOwners::Owned> BlockOwners::owned(const Stretch& one, const std::string& name,
                                                     const SumBook::Block& block) const {
  if (one.begin >= block.end || one.end <= block.begin) return std::nullopt;
  Owned found{one.array, std::max<std::int64_t>(block.begin - one.begin, 0) / one.distance, 0};
  // If the block begins after the bytes of this step, the next step follows.
  if (one.begin + found.first * one.distance + one.row <= block.begin) ++found.first;
  if (one.begin + found.first * one.distance >= block.end) return std::nullopt;
  if (name_below(path_, map_.arrays[one.array].map.files.path(one.file)) != name) {
    return std::nullopt;
  }
  found.last = one.step + (std::min(block.end, one.end) - 1 - one.begin) / one.distance;
  found.first += one.step;
  return found;
}

std::string BlockOwners::owner_of(const std::string& name, const SumBook::Block& block) const {
  const std::size_t hash = std::hash<std::string>()(name);
  std::optional<Owned> owner;
  for (auto one = pieces_.begin(); !owner && one != pieces_.end(); ++one) {
    if (one->name == hash) owner = owned(*one, name, block);
  }
  // Stretches of one data file do not overlap, so their ends ascend, too.
  const auto before = [&](const Stretch& one) {
    return one.name != hash ? one.name < hash : one.end <= block.begin;
  };
  for (auto at = std::partition_point(stretches_.begin(), stretches_.end(), before);
       at != stretches_.end() && at->name == hash && at->begin < block.end; ++at) {
    const auto next = owned(*at, name, block);
    if (!next || (owner && owner->array != next->array)) continue;
    owner = Owned{next->array, std::min(owner ? owner->first : next->first, next->first),
                  std::max(owner ? owner->last : next->last, next->last)};
  }
  if (!owner) return knows_all_ ? "no array of the file" : "an array of very many chunks";
  const ArrayDescription& array = map_.arrays[owner->array].description;
  std::string text = fmt::format("array \"{}\"", printable(array.name));
  if (array.grows && owner->first == owner->last) text += fmt::format(", step {}", owner->first);
  if (array.grows && owner->first < owner->last) {
    text += fmt::format(", steps {} to {}", owner->first, owner->last);
  }
  return text;
}

Error BlockOwners::differing_block(const std::string& name, const SumBook::Block& block,
                                   std::uint32_t sum) const {
  return Error(ErrorCode::corrupt,
               fmt::format("{}: the {} bytes from here on have the checksum {:08x}, but {:08x} was "
                           "recorded: they are damaged, or another program has changed them (in "
                           "that case remove the file of checksums)",
                           owner_of(name, block), block.end - block.begin, sum, block.sum),
               std::string(without_slashes(path_)) + printable(name), block.begin);
}

}  // namespace weir::storage

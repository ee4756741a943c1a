#include "storage/sums/block_owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "storage/sums/array_places.hpp"

namespace weir::storage {
namespace {

std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// As the error has it: "array "density", step 3".
std::string owner_of(const FileMap& map, const std::string& path, const std::string& name,
                     const SumBook::Block& block) {
  for (const StoredArray& one : map.arrays) {
    if (one.map.encoded() != nullptr) continue;
    const auto has = [&](std::optional<std::int64_t> step) {
      const ArrayPlaces places = ArrayPlaces::of(one.map, step);
      return std::any_of(places.places().begin(), places.places().end(), [&](const auto& place) {
        return place.begin < block.end && place.end > block.begin &&
               name_below(path, one.map.files.path(place.file)) == name;
      });
    };
    if (!has(std::nullopt)) continue;
    std::string array = fmt::format("array \"{}\"", printable(one.description.name));
    for (std::int64_t step = 0; one.description.grows && step < one.map.shape.extent(0); ++step) {
      if (has(step)) return fmt::format("{}, step {}", array, step);
    }
    return array;
  }
  return "no array of the file";
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

Error differing_block(const FileMap& map, const std::string& path, const std::string& name,
                      const SumBook::Block& block, std::uint32_t sum) {
  Error error;
  error.code = ErrorCode::corrupt;
  error.message = fmt::format(
      "{}: the {} bytes from here on have the checksum {:08x} where {:08x} was written: they are "
      "damaged, or another program has changed them (then remove the file of checksums)",
      owner_of(map, path, name, block), block.end - block.begin, sum, block.sum);
  error.file = std::string(without_slashes(path)) + printable(name);
  error.offset = block.begin;
  return error;
}

}  // namespace weir::storage

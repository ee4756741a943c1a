#include "formats/zarr/leftovers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "array/number_theory.hpp"
#include "common/checked.hpp"
#include "formats/zarr/shards.hpp"
#include "formats/zarr/store.hpp"
#include "sections/write_section.hpp"
#include "stored/array_change.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {
namespace {

// Removes these files, because elements that are not written must have the fill value again.
Status remove_later_files(const ZarrArray& array, const std::string& folder) {
  const auto later = later_files(array, folder);
  if (!later) return later.error();
  for (const auto& file : later.value()) {
    std::error_code failed;
    std::filesystem::remove(file, failed);
    if (failed) return system_failure("unlink", file.string(), -1, failed.value());
  }
  return later.value().empty() ? Status() : sync_folder(folder);
}

// Clears what a killed run wrote of later steps into chunks and shards that hold committed steps.
// Files that are missing have the fill value anyway.
Status clear_last_files(ZarrArray array, const std::string& folder) {
  ArrayDescription& about = array.description;
  const array::Indices& unit = about.shard_extents ? *about.shard_extents : *about.chunk_extents;
  const std::int64_t now = about.shape.extent(0);
  const auto end = checked_round_up(now, unit[0]);
  if (!end || *end == now || about.is_scalar) return {};
  const auto shape = with_steps(about.shape, *end);
  if (!shape) return shape.error();
  about.shape = shape.value();
  auto map = zarr_map(array, folder);
  if (!map) return map.error();
  if (about.shard_extents) {
    if (auto reason = read_zarr_shards(array, map.value())) {
      return invalid_argument(fmt::format("array \"{}\": {}", printable(about.name), *reason));
    }
  }
  const auto files = array::ChunkGrid::create(about.shape, unit);
  if (!files) return files.error();
  const StoredArray stored{about, std::move(map).value()};
  const std::int64_t of_row = files.value().chunks() / files.value().counts()[0];
  DataFileCache cache(DataFileCache::Use::writing);
  for (std::int64_t file = files.value().chunks() - of_row; file < files.value().chunks(); ++file) {
    if (!is_on_disk(stored.map.files.path(file))) continue;
    array::Section section = array::Section::of(files.value().box(file));
    section.start[0] = now;
    section.count[0] = *end - now;
    if (Status cleared = write_fill(stored, section, cache); !cleared.ok()) return cleared;
  }
  return cache.sync();
}

}  // namespace

Result<std::vector<std::filesystem::path>> later_files(const ZarrArray& array,
                                                       const std::string& folder) {
  const auto& about = array.description;
  std::vector<std::filesystem::path> later;
  if (!about.grows || array.key_prefix.ends_with('/')) return later;
  const auto& extents = about.shard_extents ? *about.shard_extents : *about.chunk_extents;
  const std::int64_t rows = array::divide_up(about.shape.extent(0), extents[0]);
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(array.key_prefix)) continue;
    std::int64_t row = 0;
    const char* const from = name.data() + array.key_prefix.size();
    const auto number = std::from_chars(from, name.data() + name.size(), row);
    if (number.ec == std::errc() && row >= rows) later.push_back(entry->path());
  }
  if (failed) return system_failure("read folder", folder, -1, failed.value());
  return later;
}

Status clear_later_steps(const ZarrContents& found, const std::string& path) {
  for (const ZarrArray& array : found.arrays) {
    if (!array.description.grows) continue;
    const std::string folder = zarr_folder(path, array.description.name);
    Status cleared = remove_later_files(array, folder);
    if (cleared.ok()) cleared = clear_last_files(array, folder);
    if (!cleared.ok()) return cleared;
  }
  return {};
}

}  // namespace weir::storage

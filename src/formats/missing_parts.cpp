#include "formats/missing_parts.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <variant>

#include "sections/shard_index.hpp"
#include "system/incomplete.hpp"

namespace weir::storage {
namespace {

// ---- Files that were cut off ------------------------------------------------------------------

// Returns how many of the first indices of dimension 0 lie completely in a file of `file_bytes`
// bytes.
std::int64_t indices_inside(const ExtentMap& map, std::int64_t file_bytes) {
  const std::int64_t all = map.shape.extent(0);
  const std::int64_t index_bytes = map.shape.elements() / all * map.type.bytes();
  const auto* const records = map.records();
  const std::int64_t offset = records != nullptr ? records->offset : map.dense()->offset;
  const std::int64_t stride = records != nullptr ? records->stride : index_bytes;
  if (offset > file_bytes - index_bytes) return 0;
  return stride > 0 ? std::min(all, (file_bytes - index_bytes - offset) / stride + 1) : all;
}

void find_cut_off(const StoredArray& array, MissingParts& missing) {
  const ExtentMap& map = array.map;
  missing.parts = map.shape.extent(0);
  struct stat information {};
  // In column-major order, the elements of an index are not contiguous.
  const bool in_order = map.order == array::Order::row_major || map.shape.dimensions() == 1;
  if (!in_order || ::stat(map.files.path(0).c_str(), &information) != 0) return;
  missing.lost = missing.parts - indices_inside(map, information.st_size);
  if (missing.lost == 0) return;
  missing.damage = "its data end beyond the end of the file: ";
  missing.damage += missing.lost == missing.parts
                        ? "all of it is lost"
                        : fmt::format("the last {} of {} {} are lost", missing.lost, missing.parts,
                                      array.description.grows ? "steps" : "rows");
}

// ---- Chunks that are files --------------------------------------------------------------------

// Returns whether `coordinates`, separated by the character of `files`, are those of a file.
bool is_in_grid(std::string_view coordinates, const DataFiles::Parts& files) {
  for (int d = 0; d < files.counts.size(); ++d) {
    std::int64_t number = -1;
    const auto read = std::from_chars(coordinates.begin(), coordinates.end(), number);
    if (read.ec != std::errc() || number < 0 || number >= files.counts[d]) return false;
    coordinates.remove_prefix(static_cast<std::size_t>(read.ptr - coordinates.begin()));
    const bool last = d == files.counts.size() - 1;
    if (last) return coordinates.empty();
    if (coordinates.empty() || coordinates.front() != files.separator) return false;
    coordinates.remove_prefix(1);
  }
  return false;
}

std::int64_t files_there(const DataFiles& files) {
  if (!files.are_in_grid()) return is_on_disk(files.path(0)) ? 1 : 0;
  const std::string& prefix = files.parts().prefix;
  const bool nested = files.parts().separator == '/';
  std::int64_t there = 0;
  std::error_code failed;
  std::filesystem::recursive_directory_iterator entry(prefix.substr(0, prefix.rfind('/') + 1),
                                                      failed);
  for (const std::filesystem::recursive_directory_iterator end; !failed && entry != end;
       entry.increment(failed)) {
    if (!nested || entry.depth() >= files.parts().counts.size()) entry.disable_recursion_pending();
    const std::string path = entry->path().string();
    if (!path.starts_with(prefix)) continue;
    if (is_in_grid(std::string_view(path).substr(prefix.size()), files.parts())) ++there;
  }
  return there;
}

// ---- Shards -----------------------------------------------------------------------------------

void find_in_shards(const StoredArray& array, const EncodedShards& shards, MissingParts& missing) {
  const DataFiles& files = array.map.files;
  const ShardIndexForm form{shards.chunks_per_shard, shards.index_at_end, shards.index_summed};
  std::string first;
  for (std::int64_t shard = 0; shard < files.files(); ++shard) {
    const auto read = read_shard_index(form, files.path(shard));
    const auto* const index = std::get_if<ShardIndex>(&read);
    std::string reason = index == nullptr ? std::get<std::string>(read) : "";
    for_each_slot(array.map.encoded()->grid, shards.chunks_per_shard, shards.shards, shard,
                  [&](std::int64_t slot, std::optional<std::int64_t> chunk) {
                    if (!chunk) return;
                    if (index == nullptr) {
                      ++missing.lost;
                      return;
                    }
                    const ShardEntry entry = index->entries.empty()
                                                 ? ShardEntry()
                                                 : index->entries[static_cast<std::size_t>(slot)];
                    if (!entry.is_there()) {
                      ++missing.unwritten;
                    } else if (!entry.is_in(index->file_bytes)) {
                      ++missing.lost;
                      reason = fmt::format("chunk {} lies outside its shard", *chunk);
                    }
                  });
    if (first.empty() && !reason.empty()) {
      first = fmt::format("{}: {}", printable(files.path(shard)), reason);
    }
  }
  if (missing.lost > 0) {
    missing.damage =
        fmt::format("{} of {} chunks are lost: {}", missing.lost, missing.parts, first);
  }
}

}  // namespace

Result<MissingParts> find_missing_parts(const StoredArray& array, Unwritten unwritten) {
  MissingParts missing;
  const ExtentMap& map = array.map;
  if (map.shape.elements() == 0) return missing;
  const auto* const chunks = map.chunks();
  const auto* const encoded = map.encoded();
  if (chunks == nullptr && encoded == nullptr) {
    find_cut_off(array, missing);
    return missing;
  }
  missing.parts = chunks != nullptr ? chunks->grid.chunks() : encoded->grid.chunks();
  std::optional<std::int64_t> there;
  bool are_files = false;
  if (encoded != nullptr) {
    if (const auto* const shards = std::get_if<EncodedShards>(&encoded->places)) {
      find_in_shards(array, *shards, missing);
    } else if (const auto* const table = std::get_if<EncodedTable>(&encoded->places)) {
      there = table->size();
    } else {
      are_files = true;
    }
  } else if (const auto* const table = std::get_if<ChunkTable>(&chunks->places)) {
    there = table->size();
  } else {
    // Files of one chunk each may be missing. Preallocated shards contain all their chunks.
    are_files = map.files.bytes_when_made() > 0 && map.files.files() == missing.parts;
  }
  if (are_files && unwritten == Unwritten::counted) there = files_there(map.files);
  if (there) missing.unwritten = std::max<std::int64_t>(0, missing.parts - *there);
  return missing;
}

}  // namespace weir::storage

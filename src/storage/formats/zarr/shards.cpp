#include "storage/formats/zarr/shards.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "array/number_theory.hpp"
#include "common/checked.hpp"
#include "storage/codecs/crc32c.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/slices.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t most_shards = 65536;
constexpr std::int64_t most_chunks_of_shard = std::int64_t{1} << 20;
constexpr std::int64_t most_in_table = std::int64_t{1} << 22;
constexpr std::uint64_t absent = ~std::uint64_t{0};
constexpr std::int64_t entry_bytes = 16;

std::int64_t product(const array::Indices& extents) {
  std::int64_t all = 1;  // of a shard's chunks or the shards: checked before
  for (const std::int64_t extent : extents) all *= extent;
  return all;
}

std::int64_t index_bytes(const ZarrArray& array, const ShardSlots& slots) {
  return product(slots.chunks_per_shard) * entry_bytes + (array.index_summed ? 4 : 0);
}

// Calls visit(slot, chunk) for each slot of a shard; nothing in place of the number of a chunk that
// is not in the array.
template <typename Visit>
void for_each_slot(const ChunkExtents& chunks, const ShardSlots& slots, std::int64_t shard,
                   const Visit& visit) {
  const int dimensions = slots.shards.size();
  array::Indices corner(dimensions);
  for (int d = dimensions - 1; d >= 0; --d) {
    corner[d] = shard % slots.shards[d] * slots.chunks_per_shard[d];
    shard /= slots.shards[d];
  }
  const std::int64_t all = product(slots.chunks_per_shard);
  for (std::int64_t slot = 0; slot < all; ++slot) {
    array::Indices chunk = corner;
    std::int64_t rest = slot;
    bool exists = true;
    for (int d = dimensions - 1; d >= 0; --d) {
      chunk[d] += rest % slots.chunks_per_shard[d];
      rest /= slots.chunks_per_shard[d];
      exists = exists && chunk[d] < chunks.grid.counts()[d];
    }
    visit(slot, exists ? std::optional(chunks.grid.number(chunk)) : std::nullopt);
  }
}

// Whether the chunk of a slot is in the array now, or once it has grown along dimension 0.
bool will_exist(const ZarrArray& array, const ChunkExtents& chunks, const ShardSlots& slots,
                std::int64_t shard, std::int64_t slot) {
  for (int d = slots.shards.size() - 1; d >= 0; --d) {
    const std::int64_t chunk =
        shard % slots.shards[d] * slots.chunks_per_shard[d] + slot % slots.chunks_per_shard[d];
    shard /= slots.shards[d];
    slot /= slots.chunks_per_shard[d];
    const bool grows = d == 0 && array.description.grows;
    if (!grows && chunk >= chunks.grid.counts()[d]) return false;
  }
  return true;
}

template <typename Number>
void append(std::vector<std::byte>& bytes, Number number) {
  const auto* const from = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), from, from + sizeof(Number));
}

struct Entry {
  std::uint64_t offset = absent;
  std::uint64_t bytes = absent;
};

struct ShardIndex {
  std::vector<Entry> entries;  // empty: there is no such file
  std::int64_t file_bytes = 0;
};

std::variant<ShardIndex, std::string> read_index(const ZarrArray& array, const ShardSlots& slots,
                                                 const std::string& path) {
  ShardIndex index;
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0 && errno == ENOENT) return index;
  auto file = File::open(path, {});
  if (!file) return file.error().message;
  if (::fstat(file.value().descriptor(), &information) != 0 || !S_ISREG(information.st_mode)) {
    return std::string("a shard is no file");
  }
  index.file_bytes = information.st_size;
  const std::int64_t bytes = index_bytes(array, slots);
  if (index.file_bytes < bytes) return std::string("a shard is shorter than its index");
  std::vector<std::byte> read(static_cast<std::size_t>(bytes));
  const Slice slice{read.data(), bytes};
  std::int64_t count = 0;
  std::int64_t calls = 0;
  const Status status = read_slices(
      file.value(), {&slice, 1}, array.index_at_end ? index.file_bytes - bytes : 0, count, calls);
  if (!status.ok() || count != bytes) return std::string("a shard's index cannot be read");
  const auto entries = static_cast<std::size_t>(product(slots.chunks_per_shard));
  if (array.index_summed) {
    std::uint32_t sum = 0;
    std::memcpy(&sum, read.data() + entries * entry_bytes, sizeof(sum));
    if (sum != crc32c(std::span(read).first(entries * entry_bytes))) {
      return std::string("a shard's index does not have its checksum");
    }
  }
  index.entries.resize(entries);
  std::memcpy(index.entries.data(), read.data(), entries * entry_bytes);
  return index;
}

}  // namespace

Result<ExtentMap> zarr_shard_map(const ZarrArray& array, const std::string& folder) {
  const ArrayDescription& about = array.description;
  const auto refuse = [&](std::string what) { return invalid_argument(std::move(what)); };
  const auto grid = array::ChunkGrid::create(about.shape, *about.chunk_extents);
  if (!grid) return grid.error();
  ShardSlots slots;
  std::optional<std::int64_t> inside = 1;
  std::optional<std::int64_t> shards = 1;
  for (int d = 0; d < about.shape.dimensions(); ++d) {
    slots.chunks_per_shard.push_back((*about.shard_extents)[d] / (*about.chunk_extents)[d]);
    slots.shards.push_back(array::divide_up(about.shape.extent(d), (*about.shard_extents)[d]));
    if (inside) inside = checked_multiply(*inside, slots.chunks_per_shard[d]);
    if (shards) shards = checked_multiply(*shards, std::max<std::int64_t>(1, slots.shards[d]));
  }
  if (!inside || *inside > most_chunks_of_shard) {
    return refuse(fmt::format("a shard has more than {} chunks", most_chunks_of_shard));
  }
  if (!shards || *shards > most_shards) {
    return refuse(fmt::format("it has more than {} shards", most_shards));
  }
  slots.slot_bytes = bytes_of(*about.chunk_extents, about.type).value_or(INT64_MAX);
  const auto data = checked_multiply(slots.slot_bytes, *inside);
  if (!data || !checked_add(*data, index_bytes(array, slots))) {
    return refuse("a shard does not fit into 63 bits");
  }
  slots.offset = array.index_at_end ? 0 : index_bytes(array, slots);
  return ExtentMap{
      .shape = about.shape,
      .type = about.type,
      .order = about.order,
      .byte_order = array.byte_order,
      .files = DataFiles::in_grid(folder + array.key_prefix, slots.shards, array.separator),
      .extents = ChunkExtents{grid.value(), about.chunk_extents, slots}};
}

Status make_zarr_shards(const ZarrArray& array, const ExtentMap& map, std::int64_t first_row) {
  const ChunkExtents& chunks = *map.chunks();
  const auto& slots = std::get<ShardSlots>(chunks.places);
  const std::int64_t data_bytes = product(slots.chunks_per_shard) * slots.slot_bytes;
  const std::int64_t all = product(slots.shards);
  if (all == 0) return {};
  for (std::int64_t shard = all / slots.shards[0] * first_row; shard < all; ++shard) {
    std::vector<std::byte> index;
    for (std::int64_t slot = 0; slot < product(slots.chunks_per_shard); ++slot) {
      const bool exists = will_exist(array, chunks, slots, shard, slot);
      append(index,
             exists ? static_cast<std::uint64_t>(slots.offset + slot * slots.slot_bytes) : absent);
      append(index, exists ? static_cast<std::uint64_t>(slots.slot_bytes) : absent);
    }
    append(index, crc32c(index));
    auto file = File::open(map.files.path(shard),
                           {.read = false, .write = true, .create = true, .truncate = true});
    if (!file) return file.error();
    const Slice slice{index.data(), static_cast<std::int64_t>(index.size())};
    std::int64_t calls = 0;
    Status written =
        write_slices(file.value(), {&slice, 1}, array.index_at_end ? data_bytes : 0, calls);
    if (written.ok()) written = file.value().close();
    if (!written.ok()) return written;
  }
  return {};
}

std::optional<std::string> check_zarr_shards(const ZarrArray& array, const ExtentMap& map,
                                             std::int64_t first_row, std::int64_t end_row) {
  const ChunkExtents& chunks = *map.chunks();
  const auto& slots = std::get<ShardSlots>(chunks.places);
  const std::int64_t of_row = map.files.files() / std::max<std::int64_t>(1, slots.shards[0]);
  for (std::int64_t shard = of_row * first_row; shard < of_row * end_row; ++shard) {
    auto read = read_index(array, slots, map.files.path(shard));
    if (auto* const why = std::get_if<std::string>(&read)) return printable(*why);
    const ShardIndex& index = std::get<ShardIndex>(read);
    bool alike = !index.entries.empty();
    for_each_slot(chunks, slots, shard, [&](std::int64_t slot, std::optional<std::int64_t> chunk) {
      if (!chunk || !alike) return;
      const Entry& entry = index.entries[static_cast<std::size_t>(slot)];
      alike = entry.bytes == static_cast<std::uint64_t>(slots.slot_bytes) &&
              entry.offset == static_cast<std::uint64_t>(slots.offset + slot * slots.slot_bytes);
    });
    if (!alike) return "its last shards were written by another program, in another order";
  }
  return std::nullopt;
}

std::optional<std::string> read_zarr_shards(const ZarrArray& array, ExtentMap& map) {
  auto& chunks = std::get<ChunkExtents>(map.extents);
  const auto slots = std::get<ShardSlots>(chunks.places);
  const bool small = chunks.grid.chunks() <= most_in_table;
  std::vector<std::pair<std::int64_t, ExtentPlace>> places;
  std::optional<std::string> reason;
  bool as_laid_out = true;
  for (std::int64_t shard = 0; shard < map.files.files() && !reason; ++shard) {
    auto read = read_index(array, slots, map.files.path(shard));
    if (auto* const why = std::get_if<std::string>(&read)) return printable(*why);
    const ShardIndex& index = std::get<ShardIndex>(read);
    if (index.entries.empty()) continue;
    for_each_slot(chunks, slots, shard, [&](std::int64_t slot, std::optional<std::int64_t> chunk) {
      if (!chunk || reason) return;
      const Entry& entry = index.entries[static_cast<std::size_t>(slot)];
      const std::int64_t expected = slots.offset + slot * slots.slot_bytes;
      if (entry.offset != static_cast<std::uint64_t>(expected)) as_laid_out = false;
      if (entry.offset == absent && entry.bytes == absent) return;
      const auto file_bytes = static_cast<std::uint64_t>(index.file_bytes);
      if (entry.bytes != static_cast<std::uint64_t>(slots.slot_bytes)) {
        reason = fmt::format("chunk {} is stored in {} bytes instead of {}", *chunk, entry.bytes,
                             slots.slot_bytes);
      } else if (entry.offset > file_bytes || entry.bytes > file_bytes - entry.offset) {
        reason = fmt::format("chunk {} lies outside its shard", *chunk);
      } else if (small) {
        places.emplace_back(*chunk, ExtentPlace{shard, static_cast<std::int64_t>(entry.offset)});
      }
    });
  }
  if (reason || as_laid_out) return reason;
  if (!small) return fmt::format("it has over {} chunks in shards of another order", most_in_table);
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  ChunkTable table;
  for (const auto& [chunk, place] : places) table.add(chunk, place);
  chunks.places = std::move(table);
  return std::nullopt;
}

}  // namespace weir::storage

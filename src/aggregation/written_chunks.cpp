#include "aggregation/written_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "aggregation/shared_tables.hpp"
#include "common/checked.hpp"
#include "common/page.hpp"
#include "sections/file_space_allocator.hpp"

namespace weir::aggregation {
namespace {

// The number of numbers that describe where a chunk was written: its array, its number and its
// place.
constexpr std::size_t numbers_per_chunk = 6;

template <typename Visit>
void for_each_chunk(const std::vector<std::int64_t>& numbers, const Visit& visit) {
  for (std::size_t at = 0; at + numbers_per_chunk <= numbers.size(); at += numbers_per_chunk) {
    const auto number = [&](std::size_t i) { return numbers[at + i]; };
    visit(static_cast<std::size_t>(number(0)),
          storage::EncodedTable::Entry{
              number(1), {number(2), number(3), number(4), static_cast<std::uint32_t>(number(5))}});
  }
}

// Marks the last entry of a rank: how many chunks it has reported, and their total bytes.
constexpr std::int64_t no_array = -1;

void add_total(std::vector<std::int64_t>& mine) {
  std::int64_t bytes = 0;
  for (std::size_t at = 4; at < mine.size(); at += numbers_per_chunk) bytes += mine[at];
  const auto count = static_cast<std::int64_t>(mine.size() / numbers_per_chunk);
  mine.insert(mine.end(), {no_array, count, 0, 0, bytes, 0});
}

// Called by rank 0: removes the totals of all ranks from their reports, and checks that they match.
Status take_totals(std::vector<std::int64_t>& told, int ranks, const std::string& path) {
  std::size_t kept = 0;
  std::int64_t totals = 0;
  std::int64_t chunks = 0;
  std::int64_t bytes = 0;
  for (std::size_t at = 0; at + numbers_per_chunk <= told.size(); at += numbers_per_chunk) {
    if (told[at] == no_array) {
      ++totals;
      chunks -= told[at + 1];
      bytes -= told[at + 4];
    } else {
      ++chunks;
      bytes += told[at + 4];
      std::copy_n(told.begin() + static_cast<std::ptrdiff_t>(at), numbers_per_chunk,
                  told.begin() + static_cast<std::ptrdiff_t>(kept));
      kept += numbers_per_chunk;
    }
  }
  told.resize(kept);
  if (totals == ranks && chunks == 0 && bytes == 0) return {};
  Error error;
  error.code = ErrorCode::short_transfer;
  error.file = path;
  error.message = fmt::format(
      "internal error: rank 0 received the places of {} encoded chunks more, of {} bytes more, "
      "than {} of {} ranks stored, so the step is not committed; please report this line",
      chunks, bytes, totals, ranks);
  return error;
}

// Chunks of which a message tells the places.
constexpr std::size_t most_chunks_at_once = std::size_t{1} << 14U;
// The first letter of such a message.
constexpr char further_part = '+';
constexpr char last_part = '.';

void sort_by_place(std::vector<std::int64_t>& numbers) {
  using Chunk = std::array<std::int64_t, numbers_per_chunk>;
  auto* const first = reinterpret_cast<Chunk*>(numbers.data());
  std::sort(first, first + numbers.size() / numbers_per_chunk);
}

constexpr std::int64_t least_region_bytes = 64 << 10;
constexpr std::int64_t chunks_per_region = 4;  // at least; each loses less than one chunk

Error no_places(const std::string& path) {
  return Error(ErrorCode::unsupported, "the format has no places for encoded chunks", path);
}

}  // namespace

storage::EncodedTable* chunk_table_of(storage::ExtentMap& map) {
  auto* const chunks = std::get_if<storage::EncodedChunks>(&map.extents);
  return chunks != nullptr ? std::get_if<storage::EncodedTable>(&chunks->places) : nullptr;
}

Status give_places(CollectiveState& state, OpenArrays arrays, const std::string& path,
                   std::int64_t free_from, std::uint64_t step) {
  std::string told = std::to_string(free_from);  // that of rank 0 is used
  if (Status shared = share(state, told, "where encoded chunks go"); !shared.ok()) return shared;
  free_from = std::stoll(told);
  std::int64_t most = 0;
  for (const auto& one : arrays) most = std::max(most, one->most_encoded_bytes());
  const auto four = checked_multiply(most, chunks_per_region);
  const auto region =
      four ? checked_round_up(std::max(*four, least_region_bytes), page_bytes) : four;
  const auto begin = checked_round_up(free_from, page_bytes);
  if (free_from < 0 || !region || !begin) return no_places(path);
  const std::int64_t holders = state.group->holders_per_node();
  const std::int64_t own = state.group->own_holder();
  const std::int64_t node = state.group->topology().node_of(state.rank);
  const auto space = std::make_shared<storage::FileSpaceAllocator>(
      *begin, *region, state.group->nodes() * holders, own < 0 ? own : node * holders + own);
  transport::ChunkPlaces staged{.step = step, .free_from = *begin};
  if (state.staging != nullptr) {
    staged.stagers = state.staging->stagers();
    staged.own = state.staging->own_stager();
    staged.region_bytes = *region;
  }
  for (const auto& one : arrays) {
    if (!one->has_chunk_table()) continue;
    one->give_places([space](std::int64_t bytes) { return space->take(bytes); }, staged);
  }
  return {};
}

Status share_places(CollectiveState& state, storage::FileMap& map, OpenArrays arrays) {
  const auto moved = share_tables(state, map);
  if (!moved) return moved.error();
  for (std::size_t i = 0; moved.value() && i < arrays.size(); ++i) {
    storage::ExtentMap& one = map.arrays[i].map;
    if (table_of_places(one) != nullptr) arrays[i]->set_map(one);
  }
  return {};
}

Status WrittenChunks::take_own() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const auto written = arrays_[i]->take_written_chunks();
    if (!written) return written.error();
    for (const auto& [chunk, place] : written.value()) {
      numbers_.insert(numbers_.end(),
                      {static_cast<std::int64_t>(i), chunk, place.file, place.offset, place.bytes,
                       static_cast<std::int64_t>(place.skipped)});
    }
  }
  add_total(numbers_);
  return {};
}

Status WrittenChunks::gather(CollectiveState& state) {
  auto all = gather_at_rank_0(state, numbers_, "the places of encoded chunks");
  if (!all) return all.error();
  numbers_ = std::move(all).value();
  return {};
}

Status WrittenChunks::enter(const storage::Format& format, const std::string& path, int ranks,
                            std::int64_t steps, storage::Room& room) {
  if (Status whole = take_totals(numbers_, ranks, path); !whole.ok()) return whole;
  // The room has the arrays in the file's order, which may differ from ours.
  std::unordered_map<std::string, std::int64_t> in_room;
  for (const auto& one : room.map.arrays) {
    in_room.emplace(one.description.name, static_cast<std::int64_t>(in_room.size()));
  }
  std::vector<storage::WrittenChunk> written;
  written.reserve(numbers_.size() / numbers_per_chunk);
  for_each_chunk(numbers_, [&](std::size_t array, const storage::EncodedTable::Entry& entry) {
    written.push_back({in_room.at(map_.arrays[array].description.name), entry.chunk, entry.place});
  });
  auto update = format.enter_chunks(path, room, steps, written);
  if (!update) return update.error();
  room.update = std::move(update).value();
  return {};
}

// The places are told in parts of bounded size. Each part is moved to the memory of the node before
// the next one comes, so that no rank has the places of all chunks.
Status WrittenChunks::tell(CollectiveState& state) {
  sort_by_place(numbers_);  // each part then changes few blocks of the tables
  std::span<const std::int64_t> left = numbers_;
  for (bool is_last = false; !is_last;) {
    std::string message;
    if (state.rank == 0) {
      const auto part = left.first(std::min(left.size(), most_chunks_at_once * numbers_per_chunk));
      left = left.subspan(part.size());
      message.assign(1, left.empty() ? last_part : further_part);
      message.append(reinterpret_cast<const char*>(part.data()), part.size_bytes());
    }
    if (Status shared = share(state, message, "the places of encoded chunks"); !shared.ok()) {
      return shared;
    }
    is_last = message.empty() || message.front() == last_part;
    enter_places(std::string_view(message).substr(std::min<std::size_t>(1, message.size())));
    if (Status shared = share_places(state, map_, arrays_); !shared.ok()) return shared;
  }
  return {};
}

// Enters the places of chunks in the tables. `part`: their numbers.
void WrittenChunks::enter_places(std::string_view part) {
  std::vector<std::int64_t> chunks(part.size() / sizeof(std::int64_t));
  if (!chunks.empty())
    std::memcpy(chunks.data(), part.data(), chunks.size() * sizeof(std::int64_t));
  std::vector<std::vector<storage::EncodedTable::Entry>> entries(arrays_.size());
  for_each_chunk(chunks, [&](std::size_t array, const storage::EncodedTable::Entry& entry) {
    entries[array].push_back(entry);
  });
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    storage::EncodedTable* const table = chunk_table_of(map_.arrays[i].map);
    if (table == nullptr) continue;
    table->put(std::move(entries[i]));
    arrays_[i]->set_map(map_.arrays[i].map);
  }
}

}  // namespace weir::aggregation

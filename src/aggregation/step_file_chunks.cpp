// Encoded chunks whose places are in a table, in a file with steps. Aggregators write them after
// the file's end, each into regions of its own (file_space_allocator.hpp). At the end of a step the
// ranks report the places to rank 0, the commit lets readers find them, and all ranks get the new
// tables, which are stored once per node if they are large.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "aggregation/file_space_allocator.hpp"
#include "aggregation/step_file.hpp"
#include "common/checked.hpp"
#include "common/page.hpp"

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

// If there are fewer words, every rank keeps its own places, since sharing takes a mapping.
constexpr std::size_t least_shared_words = std::size_t{1} << 15U;

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

Status StepFile::give_places(CollectiveState& state) {
  if (!has_chunk_tables_) return {};
  std::string told = std::to_string(room_.free_from);  // that of rank 0 is used
  if (Status shared = share(state, told, "where encoded chunks go"); !shared.ok()) return shared;
  const std::int64_t free_from = std::stoll(told);
  std::int64_t most = 0;
  for (const auto& one : arrays_) most = std::max(most, one->most_encoded_bytes());
  const auto four = checked_multiply(most, chunks_per_region);
  const auto region =
      four ? checked_round_up(std::max(*four, least_region_bytes), page_bytes) : four;
  const auto begin = checked_round_up(free_from, page_bytes);
  if (free_from < 0 || !region || !begin) {
    return no_places(path_);
  }
  const std::int64_t holders = state.group->holders_per_node();
  const std::int64_t own = state.group->own_holder();
  const std::int64_t node = state.group->topology().node_of(state.rank);
  const auto space = std::make_shared<FileSpaceAllocator>(
      *begin, *region, state.group->nodes() * holders, own < 0 ? own : node * holders + own);
  for (const auto& one : arrays_) {
    if (!one->has_chunk_table()) continue;
    one->give_places([space](std::int64_t bytes) { return space->take(bytes); });
  }
  return {};
}

Status StepFile::take_own_chunks(WrittenChunks& mine) {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const auto written = arrays_[i]->take_written_chunks();
    if (!written) return written.error();
    for (const auto& [chunk, place] : written.value()) {
      mine.insert(mine.end(), {static_cast<std::int64_t>(i), chunk, place.file, place.offset,
                               place.bytes, static_cast<std::int64_t>(place.skipped)});
    }
  }
  add_total(mine);
  return {};
}

Status StepFile::gather_chunks(CollectiveState& state, WrittenChunks& chunks) {
  auto all = gather_at_rank_0(state, chunks, "the places of encoded chunks");
  if (!all) return all.error();
  chunks = std::move(all).value();
  return {};
}

// Called by rank 0: enters the chunks of the step in the update that commits it.
Status StepFile::complete_update(const CollectiveState& state, WrittenChunks& chunks) {
  if (has_chunk_tables_) {
    if (Status whole = take_totals(chunks, state.ranks, path_); !whole.ok()) return whole;
    // The room has the arrays in the file's order, which may differ from ours.
    std::unordered_map<std::string, std::int64_t> in_room;
    for (const auto& one : room_.map.arrays) {
      in_room.emplace(one.description.name, static_cast<std::int64_t>(in_room.size()));
    }
    std::vector<storage::WrittenChunk> written;
    written.reserve(chunks.size() / numbers_per_chunk);
    for_each_chunk(chunks, [&](std::size_t array, const storage::EncodedTable::Entry& entry) {
      written.push_back(
          {in_room.at(map_.arrays[array].description.name), entry.chunk, entry.place});
    });
    auto update =
        storage::find_format(format_).value()->enter_chunks(path_, room_, steps_ + 1, written);
    if (!update) return update.error();
    room_.update = std::move(update).value();
  }
  return {};
}

Status StepFile::take_chunks(CollectiveState& state, WrittenChunks& chunks) {
  std::string message(chunks.size() * sizeof(std::int64_t), '\0');
  if (!chunks.empty()) std::memcpy(message.data(), chunks.data(), message.size());
  if (Status shared = share(state, message, "the places of encoded chunks"); !shared.ok()) {
    return shared;
  }
  chunks.resize(message.size() / sizeof(std::int64_t));
  if (!chunks.empty()) std::memcpy(chunks.data(), message.data(), message.size());
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
  return share_places(state);
}

// All ranks have built these tables from the same messages, so each of them knows where the first
// rank of its node writes which page.
Status StepFile::share_places(CollectiveState& state) {
  std::size_t words = 0;
  for (storage::StoredArray& one : map_.arrays) {
    if (const auto* const table = chunk_table_of(one.map)) words += table->own_words();
  }
  if (words < least_shared_words || state.group->nodes() == state.ranks) return {};
  auto shared = state.group->share_more(static_cast<std::int64_t>(words * sizeof(std::int64_t)));
  if (!shared && ranks::ends_communication(shared.error())) {
    note_broken(state, shared.error());
    return shared.error();
  }
  Status possible = agree_on(state, shared ? Status() : Status(shared.error()));
  if (!possible.ok()) {
    // If there is too little memory to share, every rank keeps its own places.
    return ranks::ends_communication(possible.error()) ? possible : Status();
  }
  const std::shared_ptr<storage::SharedMemory> memory = std::move(shared).value();
  auto* const first = reinterpret_cast<std::int64_t*>(memory->data());
  std::span<std::int64_t> left(first, words);
  for (storage::StoredArray& one : map_.arrays) {
    const auto* const table = chunk_table_of(one.map);
    if (table == nullptr || state.group->own_place() != 0) continue;
    table->copy_own(left);
    left = left.subspan(table->own_words());
  }
  if (Status written = agree_on(state, memory->make_read_only()); !written.ok()) {
    return written;
  }
  const std::int64_t* next = first;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    storage::EncodedTable* const table = chunk_table_of(map_.arrays[i].map);
    const std::size_t own = table == nullptr ? 0 : table->own_words();
    if (own == 0) continue;
    table->share_own(std::shared_ptr<const std::int64_t>(memory, next));
    next += own;
    arrays_[i]->set_map(map_.arrays[i].map);
  }
  return {};
}

}  // namespace weir::aggregation

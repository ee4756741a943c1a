#include "aggregation/shared_tables.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "ranks/messages.hpp"

namespace weir::aggregation {
namespace {

constexpr const char* places_of_chunks = "the places of chunks";
constexpr std::size_t most_words_at_once = std::size_t{1} << 27U;

std::span<std::int64_t> words_in(const storage::SharedMemory& memory, std::size_t words) {
  return {reinterpret_cast<std::int64_t*>(memory.data()), words};
}

// Returns memory that the ranks of each node share; null if one node has too little, or if no rank
// shares a node with another.
Result<std::shared_ptr<storage::SharedMemory>> memory_for(CollectiveState& state,
                                                          std::size_t words) {
  if (state.group->nodes() == state.ranks) return std::shared_ptr<storage::SharedMemory>();
  auto shared = state.group->share_more(static_cast<std::int64_t>(words * sizeof(std::int64_t)));
  if (!shared && ranks::ends_communication(shared.error())) {
    note_broken(state, shared.error());
    return shared.error();
  }
  Status possible = agree_on(state, shared ? Status() : Status(shared.error()));
  if (possible.ok()) return shared;
  if (ranks::ends_communication(possible.error())) return possible.error();
  return std::shared_ptr<storage::SharedMemory>();
}

template <typename Visit>
void for_each_table(storage::FileMap& map, const Visit& visit) {
  const auto visit_table = [&](storage::StoredArray& one) {
    array::WordBlocks* const table = table_of_places(one.map);
    if (table != nullptr) visit(*table);
  };
  for (storage::StoredArray& one : map.arrays) visit_table(one);
  for (storage::StoredTexts& one : map.texts) visit_table(one.array);
}

void copy_own(storage::FileMap& map, std::span<std::int64_t> words) {
  for_each_table(map, [&](const array::WordBlocks& table) {
    table.copy_own(words);
    words = words.subspan(table.own_words());
  });
}

void share_own(storage::FileMap& map, const std::shared_ptr<const std::int64_t>& words) {
  const std::int64_t* next = words.get();
  for_each_table(map, [&](array::WordBlocks& table) {
    const std::size_t own = table.own_words();
    if (own == 0) return;
    table.share_own(std::shared_ptr<const std::int64_t>(words, next));
    next += own;
  });
}

// Called by the first rank of each node: gets the words from rank 0, which is one of them.
Status receive_from_rank_0(CollectiveState& state, storage::SharedMemory& memory,
                           std::span<std::int64_t> words) {
  const MPI_Comm leaders = state.group->leaders();
  while (leaders != MPI_COMM_NULL && !words.empty()) {
    const auto part = words.first(std::min(words.size(), most_words_at_once));
    ranks::Pending pending;
    Status done = finish(state,
                         ranks::broadcast(pending, part.data(),
                                          static_cast<std::int64_t>(part.size_bytes()), 0, leaders),
                         pending, places_of_chunks);
    if (!done.ok()) {
      memory.keep_for_good();
      return done;
    }
    words = words.subspan(part.size());
  }
  return {};
}

// Gives every rank memory of its own with the words.
Result<std::shared_ptr<const std::int64_t>> receive_alone(CollectiveState& state,
                                                          storage::FileMap& map,
                                                          std::size_t words) {
  const auto text = std::make_shared<std::string>();
  const auto numbers = [&] {
    return std::span(reinterpret_cast<std::int64_t*>(text->data()), words);
  };
  if (state.rank == 0) {
    text->resize(words * sizeof(std::int64_t));
    copy_own(map, numbers());
  }
  if (Status shared = share(state, *text, places_of_chunks); !shared.ok()) return shared.error();
  if (text->size() != words * sizeof(std::int64_t)) {
    return invalid_argument("internal error: a message about the places of chunks is incomplete");
  }
  return std::shared_ptr<const std::int64_t>(text, numbers().data());
}

}  // namespace

array::WordBlocks* table_of_places(storage::ExtentMap& map) {
  if (auto* const chunks = std::get_if<storage::ChunkExtents>(&map.extents)) {
    auto* const table = std::get_if<array::ChunkTable>(&chunks->places);
    return table != nullptr ? &table->blocks() : nullptr;
  }
  auto* const encoded = std::get_if<storage::EncodedChunks>(&map.extents);
  if (encoded == nullptr) return nullptr;
  if (auto* const shards = std::get_if<storage::EncodedShards>(&encoded->places)) {
    return &shards->table.blocks();
  }
  auto* const table = std::get_if<storage::EncodedTable>(&encoded->places);
  return table != nullptr ? &table->blocks() : nullptr;
}

std::size_t own_table_words(storage::FileMap& map) {
  std::size_t words = 0;
  for_each_table(map, [&](const array::WordBlocks& table) { words += table.own_words(); });
  return words;
}

Status receive_tables(CollectiveState& state, storage::FileMap& map) {
  const std::size_t words = own_table_words(map);
  auto shared = memory_for(state, words);
  if (!shared) return shared.error();
  const std::shared_ptr<storage::SharedMemory> memory = std::move(shared).value();
  if (memory == nullptr) {
    const auto alone = receive_alone(state, map, words);
    if (!alone) return alone.error();
    share_own(map, alone.value());
    return {};
  }
  const auto received = words_in(*memory, words);
  if (state.rank == 0) copy_own(map, received);
  if (state.group->own_place() == 0) {
    Status done = receive_from_rank_0(state, *memory, received);
    if (!done.ok()) return done;
  }
  if (Status ended = agree_on(state, memory->make_read_only()); !ended.ok()) return ended;
  share_own(map, std::shared_ptr<const std::int64_t>(memory, received.data()));
  return {};
}

// All ranks have built these tables from the same messages, so each of them knows where the first
// rank of its node writes which block.
Result<bool> share_tables(CollectiveState& state, storage::FileMap& map) {
  const std::size_t words = own_table_words(map);
  if (words < least_shared_words) return false;
  auto shared = memory_for(state, words);
  if (!shared) return shared.error();
  const std::shared_ptr<storage::SharedMemory> memory = std::move(shared).value();
  if (memory == nullptr) return false;
  const auto all = words_in(*memory, words);
  if (state.group->own_place() == 0) copy_own(map, all);
  if (Status ended = agree_on(state, memory->make_read_only()); !ended.ok()) return ended.error();
  share_own(map, std::shared_ptr<const std::int64_t>(memory, all.data()));
  return true;
}

}  // namespace weir::aggregation

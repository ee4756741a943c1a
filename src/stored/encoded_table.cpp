#include "stored/encoded_table.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace weir::storage {
namespace {

using Entry = EncodedTable::Entry;
using array::WordBlock;

bool is_before(const Entry& a, const Entry& b) { return a.chunk < b.chunk; }

// Sorts the entries by chunk and keeps only the last entry of each chunk.
void settle(std::vector<Entry>& entries) {
  if (!std::is_sorted(entries.begin(), entries.end(), is_before)) {
    std::stable_sort(entries.begin(), entries.end(), is_before);
  }
  std::size_t kept = 0;
  for (const Entry& one : entries) {
    if (kept > 0 && entries[kept - 1].chunk == one.chunk) --kept;
    entries[kept++] = one;
  }
  entries.resize(kept);
}

}  // namespace

// A block of the table: the number of entries, a mask of the columns, the first chunk, then the
// columns of numbers. A column without information is omitted.
class EncodedTable::Page {
 public:
  static constexpr std::size_t most_entries = 4096;

  explicit Page(const WordBlock& block) : words_(block.words().data()) {}

  // Makes the block of a page of one or more entries, in ascending order of chunks.
  static WordBlock block_of(std::span<const Entry> entries) {
    const std::size_t count = entries.size();
    const auto any = [&](const auto& says_something) {
      return std::any_of(entries.begin(), entries.end(), says_something);
    };
    const std::int64_t first = entries.front().chunk;
    std::int64_t columns = 0;
    if (entries.back().chunk - first + 1 != static_cast<std::int64_t>(count)) columns |= chunks;
    if (any([](const Entry& one) { return one.place.file != 0; })) columns |= files;
    if (any([](const Entry& one) { return one.place.skipped != 0; })) columns |= skipped;
    std::vector<std::int64_t> words;
    words.reserve(words_for(static_cast<std::int64_t>(count), columns));
    words.insert(words.end(), {static_cast<std::int64_t>(count), columns, first});
    const auto keep = [&](const auto& number) {
      for (const Entry& one : entries) words.push_back(number(one));
    };
    keep([](const Entry& one) { return one.place.offset; });
    keep([](const Entry& one) { return one.place.bytes; });
    if ((columns & chunks) != 0) keep([](const Entry& one) { return one.chunk; });
    if ((columns & files) != 0) keep([](const Entry& one) { return one.place.file; });
    if ((columns & skipped) != 0) {
      keep([](const Entry& one) { return std::int64_t{one.place.skipped}; });
    }
    return WordBlock(std::move(words));
  }

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(word(0)); }
  [[nodiscard]] std::int64_t first() const { return word(2); }
  [[nodiscard]] std::int64_t last() const { return chunk(size() - 1); }
  [[nodiscard]] Entry entry(std::size_t number) const {
    return {chunk(number),
            {.file = has(files) ? column(files)[number] : 0,
             .offset = column(0)[number],
             .bytes = column(0)[size() + number],
             .skipped = has(skipped) ? static_cast<std::uint32_t>(column(skipped)[number]) : 0}};
  }
  // Returns the number of the first entry of this chunk or a later one.
  [[nodiscard]] std::size_t number_from(std::int64_t chunk) const {
    if (has(chunks)) {
      const std::span<const std::int64_t> all = column(chunks);
      return static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), chunk) -
                                      all.begin());
    }
    if (chunk <= first()) return 0;
    return std::min(size(), static_cast<std::size_t>(chunk - first()));
  }
  void append_to(std::vector<Entry>& entries, std::size_t from = 0) const {
    for (std::size_t number = from; number < size(); ++number) entries.push_back(entry(number));
  }

 private:
  // Bits of the columns that may be omitted, in the order in which they follow offsets and bytes.
  static constexpr std::int64_t chunks = 1;  // omitted if chunks follow each other without gaps
  static constexpr std::int64_t files = 2;   // omitted if all are 0
  static constexpr std::int64_t skipped = 4;
  static constexpr std::size_t header = 3;

  static std::size_t words_for(std::int64_t entries, std::int64_t columns) {
    return header +
           static_cast<std::size_t>(entries) *
               (2 + static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(columns))));
  }
  [[nodiscard]] std::int64_t word(std::size_t at) const { return words_[at]; }
  [[nodiscard]] bool has(std::int64_t columns) const { return (word(1) & columns) != 0; }
  // Returns the offsets and bytes (for 0), or another column that is present.
  [[nodiscard]] std::span<const std::int64_t> column(std::int64_t which) const {
    const std::int64_t before = which == 0 ? 0 : word(1) & (which - 1);
    const std::size_t at = which == 0 ? header : words_for(word(0), before);
    return {words_ + at, (which == 0 ? 2 : 1) * size()};
  }
  [[nodiscard]] std::int64_t chunk(std::size_t number) const {
    return has(chunks) ? column(chunks)[number] : first() + static_cast<std::int64_t>(number);
  }

  const std::int64_t* words_;
};

std::size_t EncodedTable::page_for(std::int64_t chunk) const {
  const auto all = blocks_.all();
  const auto found = std::ranges::partition_point(
      all, [&](const WordBlock& block) { return Page(block).last() < chunk; });
  return static_cast<std::size_t>(found - all.begin());
}

std::optional<EncodedPlace> EncodedTable::place_of(std::int64_t chunk) const {
  const std::size_t number = page_for(chunk);
  if (number == blocks_.size()) return std::nullopt;
  const Page page(blocks_[number]);
  const Entry found = page.entry(page.number_from(chunk));
  return found.chunk == chunk ? std::optional(found.place) : std::nullopt;
}

void EncodedTable::put(std::vector<Entry> entries) {
  if (entries.empty()) return;
  settle(entries);
  std::vector<WordBlock> blocks;
  const auto add = [&](std::span<const Entry> some) {
    while (!some.empty()) {
      const std::size_t count = std::min(some.size(), Page::most_entries);
      blocks.push_back(Page::block_of(some.first(count)));
      some = some.subspan(count);
    }
  };
  auto next = entries.begin();
  const std::size_t count = blocks_.size();
  for (std::size_t number = 0; number < count; ++number) {
    const Page page(blocks_[number]);
    // New entries between two pages go to the first of them, and those behind the last page to that
    // page.
    const bool is_last = number + 1 == count;
    const auto end =
        is_last ? entries.end()
                : std::lower_bound(next, entries.end(),
                                   Entry{Page(blocks_[number + 1]).first(), {}}, is_before);
    const bool full_and_before =
        next != end && page.size() >= Page::most_entries && next->chunk > page.last();
    if (next == end || full_and_before) {
      blocks.push_back(blocks_[number]);
      add({next, end});
    } else {
      std::vector<Entry> both;
      both.reserve(page.size() + static_cast<std::size_t>(end - next));
      page.append_to(both);
      both.insert(both.end(), next, end);
      settle(both);
      add(both);
    }
    next = end;
  }
  add({next, entries.end()});
  blocks_ = array::WordBlocks(std::move(blocks));
}

void EncodedTable::cut(std::int64_t chunk) {
  const std::size_t number = page_for(chunk);
  if (number == blocks_.size()) return;
  const auto before = blocks_.all().first(number);
  std::vector<WordBlock> blocks(before.begin(), before.end());
  const Page page(blocks_[number]);
  if (const std::size_t kept = page.number_from(chunk); kept > 0) {
    std::vector<Entry> left;
    page.append_to(left);
    left.resize(kept);
    blocks.push_back(Page::block_of(left));
  }
  blocks_ = array::WordBlocks(std::move(blocks));
}

std::int64_t EncodedTable::size() const {
  std::int64_t all = 0;
  for (const WordBlock& one : blocks_.all()) all += static_cast<std::int64_t>(Page(one).size());
  return all;
}

std::vector<Entry> EncodedTable::entries(std::int64_t from) const {
  std::vector<Entry> found;
  for (std::size_t number = page_for(from); number < blocks_.size(); ++number) {
    const Page page(blocks_[number]);
    page.append_to(found, page.number_from(from));
  }
  return found;
}

bool operator==(const EncodedTable& a, const EncodedTable& b) {
  if (a.blocks_.is_copy_of(b.blocks_)) return true;
  return a.size() == b.size() && a.entries() == b.entries();
}

}  // namespace weir::storage

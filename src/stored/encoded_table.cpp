#include "stored/encoded_table.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace weir::storage {
namespace {

using Entry = EncodedTable::Entry;

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

// A block of words without pointers: the number of entries, a mask of the columns, the first chunk,
// then the columns of numbers. A column without information is omitted.
class EncodedTable::Page {
 public:
  static constexpr std::size_t most_entries = 4096;

  // Makes a page of one or more entries, in ascending order of chunks, in memory of this process.
  explicit Page(std::span<const Entry> entries) {
    const std::size_t count = entries.size();
    const auto any = [&](const auto& says_something) {
      return std::any_of(entries.begin(), entries.end(), says_something);
    };
    const std::int64_t first = entries.front().chunk;
    std::int64_t columns = 0;
    if (entries.back().chunk - first + 1 != static_cast<std::int64_t>(count)) columns |= chunks;
    if (any([](const Entry& one) { return one.place.file != 0; })) columns |= files;
    if (any([](const Entry& one) { return one.place.skipped != 0; })) columns |= skipped;
    const auto words = std::make_shared<std::vector<std::int64_t>>();
    words->reserve(words_for(static_cast<std::int64_t>(count), columns));
    words->insert(words->end(), {static_cast<std::int64_t>(count), columns, first});
    const auto keep = [&](const auto& number) {
      for (const Entry& one : entries) words->push_back(number(one));
    };
    keep([](const Entry& one) { return one.place.offset; });
    keep([](const Entry& one) { return one.place.bytes; });
    if ((columns & chunks) != 0) keep([](const Entry& one) { return one.chunk; });
    if ((columns & files) != 0) keep([](const Entry& one) { return one.place.file; });
    if ((columns & skipped) != 0) {
      keep([](const Entry& one) { return std::int64_t{one.place.skipped}; });
    }
    words_ = std::shared_ptr<const std::int64_t>(words, words->data());
  }
  // Makes a page from words that another page wrote to memory that processes share.
  explicit Page(std::shared_ptr<const std::int64_t> words)
      : words_(std::move(words)), is_shared_(true) {}

  [[nodiscard]] bool is_shared() const { return is_shared_; }
  [[nodiscard]] std::span<const std::int64_t> words() const {
    return {words_.get(), words_for(word(0), word(1))};
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
  [[nodiscard]] std::int64_t word(std::size_t at) const { return words_.get()[at]; }
  [[nodiscard]] bool has(std::int64_t columns) const { return (word(1) & columns) != 0; }
  // Returns the offsets and bytes (for 0), or another column that is present.
  [[nodiscard]] std::span<const std::int64_t> column(std::int64_t which) const {
    const std::int64_t before = which == 0 ? 0 : word(1) & (which - 1);
    const std::size_t at = which == 0 ? header : words_for(word(0), before);
    return {words_.get() + at, (which == 0 ? 2 : 1) * size()};
  }
  [[nodiscard]] std::int64_t chunk(std::size_t number) const {
    return has(chunks) ? column(chunks)[number] : first() + static_cast<std::int64_t>(number);
  }

  std::shared_ptr<const std::int64_t> words_;
  bool is_shared_ = false;
};

std::size_t EncodedTable::page_for(std::int64_t chunk) const {
  if (!pages_) return 0;
  const auto found =
      std::lower_bound(pages_->begin(), pages_->end(), chunk,
                       [](const auto& page, std::int64_t one) { return page->last() < one; });
  return static_cast<std::size_t>(found - pages_->begin());
}

std::optional<EncodedPlace> EncodedTable::place_of(std::int64_t chunk) const {
  const std::size_t number = page_for(chunk);
  if (!pages_ || number == pages_->size()) return std::nullopt;
  const Page& page = *(*pages_)[number];
  const Entry found = page.entry(page.number_from(chunk));
  return found.chunk == chunk ? std::optional(found.place) : std::nullopt;
}

void EncodedTable::put(std::vector<Entry> entries) {
  if (entries.empty()) return;
  settle(entries);
  Pages pages;
  const auto add = [&](std::span<const Entry> some) {
    while (!some.empty()) {
      const std::size_t count = std::min(some.size(), Page::most_entries);
      pages.push_back(std::make_shared<const Page>(some.first(count)));
      some = some.subspan(count);
    }
  };
  auto next = entries.begin();
  const std::size_t count = pages_ ? pages_->size() : 0;
  for (std::size_t number = 0; number < count; ++number) {
    const auto& page = (*pages_)[number];
    // New entries between two pages go to the first of them, and those behind the last page to that
    // page.
    const bool is_last = number + 1 == count;
    const auto end = is_last
                         ? entries.end()
                         : std::lower_bound(next, entries.end(),
                                            Entry{(*pages_)[number + 1]->first(), {}}, is_before);
    const bool full_and_before =
        next != end && page->size() >= Page::most_entries && next->chunk > page->last();
    if (next == end || full_and_before) {
      pages.push_back(page);
      add({next, end});
    } else {
      std::vector<Entry> both;
      both.reserve(page->size() + static_cast<std::size_t>(end - next));
      page->append_to(both);
      both.insert(both.end(), next, end);
      settle(both);
      add(both);
    }
    next = end;
  }
  add({next, entries.end()});
  pages_ = std::make_shared<const Pages>(std::move(pages));
}

void EncodedTable::cut(std::int64_t chunk) {
  const std::size_t number = page_for(chunk);
  if (!pages_ || number == pages_->size()) return;
  Pages pages(pages_->begin(), pages_->begin() + static_cast<std::ptrdiff_t>(number));
  const Page& page = *(*pages_)[number];
  if (const std::size_t kept = page.number_from(chunk); kept > 0) {
    std::vector<Entry> left;
    page.append_to(left);
    left.resize(kept);
    pages.push_back(std::make_shared<const Page>(std::span<const Entry>(left)));
  }
  pages_ = pages.empty() ? nullptr : std::make_shared<const Pages>(std::move(pages));
}

std::size_t EncodedTable::own_words() const {
  std::size_t words = 0;
  if (!pages_) return words;
  for (const auto& page : *pages_) words += page->is_shared() ? 0 : page->words().size();
  return words;
}

void EncodedTable::copy_own(std::span<std::int64_t> words) const {
  if (!pages_) return;
  for (const auto& page : *pages_) {
    if (page->is_shared()) continue;
    std::copy(page->words().begin(), page->words().end(), words.begin());
    words = words.subspan(page->words().size());
  }
}

void EncodedTable::share_own(const std::shared_ptr<const std::int64_t>& words) {
  if (!pages_) return;
  Pages pages;
  pages.reserve(pages_->size());
  const std::int64_t* next = words.get();
  for (const auto& page : *pages_) {
    if (page->is_shared()) {
      pages.push_back(page);
      continue;
    }
    pages.push_back(std::make_shared<const Page>(std::shared_ptr<const std::int64_t>(words, next)));
    next += page->words().size();
  }
  pages_ = std::make_shared<const Pages>(std::move(pages));
}

std::int64_t EncodedTable::size() const {
  std::int64_t all = 0;
  if (!pages_) return all;
  for (const auto& page : *pages_) all += static_cast<std::int64_t>(page->size());
  return all;
}

std::vector<Entry> EncodedTable::entries(std::int64_t from) const {
  std::vector<Entry> found;
  const std::size_t count = pages_ ? pages_->size() : 0;
  for (std::size_t number = page_for(from); number < count; ++number) {
    const Page& page = *(*pages_)[number];
    page.append_to(found, page.number_from(from));
  }
  return found;
}

bool operator==(const EncodedTable& a, const EncodedTable& b) {
  if (a.pages_ == b.pages_) return true;
  return a.size() == b.size() && a.entries() == b.entries();
}

}  // namespace weir::storage

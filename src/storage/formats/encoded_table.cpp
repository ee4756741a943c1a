#include "storage/formats/encoded_table.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weir::storage {
namespace {

using Entry = EncodedTable::Entry;

bool is_before(const Entry& a, const Entry& b) { return a.chunk < b.chunk; }

// Each chunk once, in ascending order; the last entry of a chunk.
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

// Columns of numbers; one that says nothing is left out.
class EncodedTable::Page {
 public:
  static constexpr std::size_t most_entries = 4096;

  // Some, by ascending chunk.
  explicit Page(std::span<const Entry> entries) : first_(entries.front().chunk) {
    const std::size_t count = entries.size();
    const auto keep = [&](auto& column, const auto& number) {
      column.reserve(count);
      for (const Entry& one : entries) column.push_back(number(one));
    };
    const auto any = [&](const auto& says_something) {
      return std::any_of(entries.begin(), entries.end(), says_something);
    };
    keep(offsets_, [](const Entry& one) { return one.place.offset; });
    keep(bytes_, [](const Entry& one) { return one.place.bytes; });
    if (entries.back().chunk - first_ + 1 != static_cast<std::int64_t>(count)) {
      keep(chunks_, [](const Entry& one) { return one.chunk; });
    }
    if (any([](const Entry& one) { return one.place.file != 0; })) {
      keep(files_, [](const Entry& one) { return one.place.file; });
    }
    if (any([](const Entry& one) { return one.place.skipped != 0; })) {
      keep(skipped_, [](const Entry& one) { return one.place.skipped; });
    }
  }

  [[nodiscard]] std::size_t size() const { return offsets_.size(); }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t last() const { return chunk(size() - 1); }
  [[nodiscard]] Entry entry(std::size_t number) const {
    return {chunk(number),
            {.file = files_.empty() ? 0 : files_[number],
             .offset = offsets_[number],
             .bytes = bytes_[number],
             .skipped = skipped_.empty() ? 0 : skipped_[number]}};
  }
  // The number of the first entry of this chunk or a later one.
  [[nodiscard]] std::size_t number_from(std::int64_t chunk) const {
    if (!chunks_.empty()) {
      return static_cast<std::size_t>(std::lower_bound(chunks_.begin(), chunks_.end(), chunk) -
                                      chunks_.begin());
    }
    if (chunk <= first_) return 0;
    return std::min(size(), static_cast<std::size_t>(chunk - first_));
  }
  void append_to(std::vector<Entry>& entries, std::size_t from = 0) const {
    for (std::size_t number = from; number < size(); ++number) entries.push_back(entry(number));
  }

 private:
  [[nodiscard]] std::int64_t chunk(std::size_t number) const {
    return chunks_.empty() ? first_ + static_cast<std::int64_t>(number) : chunks_[number];
  }

  std::int64_t first_;
  std::vector<std::int64_t> chunks_;  // none: they follow each other without gaps
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> files_;     // none: all 0
  std::vector<std::uint32_t> skipped_;  // none: all 0
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
    // What lies between two pages goes to the first of them, as what lies behind the last one does.
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

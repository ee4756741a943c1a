// The places of an array's encoded chunks that have no files of their own, as read from a file's
// library or a shard's index.
//
// There may be a hundred million chunks, and several parts of a program may have the table of the
// same array. Places are therefore kept in immutable pages of some thousand chunks each: copies of
// a table share its pages, and a change replaces only the pages that it affects. A place takes 16
// bytes if chunks follow each other without gaps, otherwise 24. Processes with equal tables can
// keep the pages once, in shared memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace weir::storage {

struct EncodedPlace {
  std::int64_t file = 0;
  std::int64_t offset = 0;    // bytes from the start of the file
  std::int64_t bytes = -1;    // -1: to the end of the file
  std::uint32_t skipped = 0;  // bit i: codec i was not applied

  friend bool operator==(const EncodedPlace&, const EncodedPlace&) = default;
};

class EncodedTable {
 public:
  struct Entry {
    std::int64_t chunk = 0;
    EncodedPlace place;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  EncodedTable() = default;
  // The entries may be in any order. If a chunk has several entries, the last one counts.
  explicit EncodedTable(std::vector<Entry> entries) { put(std::move(entries)); }

  // Returns the place of a chunk; nothing if the chunk is in no file.
  [[nodiscard]] std::optional<EncodedPlace> place_of(std::int64_t chunk) const;
  // Gives chunks new places. The entries may be in any order. If a chunk has several entries, the
  // last one counts.
  void put(std::vector<Entry> entries);
  // Removes the places of this chunk and all later chunks, which are then in no file.
  void cut(std::int64_t chunk);

  // Returns the size, in words, of the pages that are in this process's own memory.
  [[nodiscard]] std::size_t own_words() const;
  // Copies these pages to the first own_words() of `words`, without changing the table.
  void copy_own(std::span<std::int64_t> words) const;
  // Replaces these pages by `words`, memory shared by processes, to which copy_own() of an equal
  // table, made by the same calls, was written.
  void share_own(const std::shared_ptr<const std::int64_t>& words);

  // Returns how many chunks have a place.
  [[nodiscard]] std::int64_t size() const;
  // Returns the entries from chunk `from` on, in ascending order.
  [[nodiscard]] std::vector<Entry> entries(std::int64_t from = 0) const;
  friend bool operator==(const EncodedTable& a, const EncodedTable& b);

 private:
  class Page;
  using Pages = std::vector<std::shared_ptr<const Page>>;

  // Returns the first page that contains, or would contain, this chunk or a later one.
  [[nodiscard]] std::size_t page_for(std::int64_t chunk) const;

  std::shared_ptr<const Pages> pages_;  // by ascending chunk, never empty pages; null: no pages
};

}  // namespace weir::storage

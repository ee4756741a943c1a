// Where the encoded chunks of an array are that have no files of their own: what a file's library
// or a shard's index was asked.
//
// There may be a hundred million of them, and several parts of a program have the table of the same
// array. So the places are kept in pages that never change, of some thousand chunks each: a copy of
// a table shares its pages, and a change makes anew the pages that it is in. A place takes 16 bytes
// where chunks follow each other without gaps, otherwise 24. Processes that have equal tables can
// keep the pages once, in memory that they share.
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
  // In any order. Of a chunk that is there several times the last entry counts.
  explicit EncodedTable(std::vector<Entry> entries) { put(std::move(entries)); }

  // Nothing: the chunk is in no file.
  [[nodiscard]] std::optional<EncodedPlace> place_of(std::int64_t chunk) const;
  // Gives these chunks their places, instead of those that they had. In any order; of a chunk that
  // is there several times the last entry counts.
  void put(std::vector<Entry> entries);
  // The chunks from this one on are in no file.
  void cut(std::int64_t chunk);

  // Words of the pages that are in memory of this process.
  [[nodiscard]] std::size_t own_words() const;
  // Writes these pages to the first own_words() of `words`, without changing the table.
  void copy_own(std::span<std::int64_t> words) const;
  // Takes them from there: what copy_own() of an equal table, made by the same calls, wrote to
  // memory that processes share.
  void share_own(const std::shared_ptr<const std::int64_t>& words);

  // How many chunks have a place.
  [[nodiscard]] std::int64_t size() const;
  // The entries from chunk `from` on, in ascending order.
  [[nodiscard]] std::vector<Entry> entries(std::int64_t from = 0) const;
  friend bool operator==(const EncodedTable& a, const EncodedTable& b);

 private:
  class Page;
  using Pages = std::vector<std::shared_ptr<const Page>>;

  // The first page that has, or would have, this chunk or a later one.
  [[nodiscard]] std::size_t page_for(std::int64_t chunk) const;

  std::shared_ptr<const Pages> pages_;  // by ascending chunk, none of them empty; null: none
};

}  // namespace weir::storage

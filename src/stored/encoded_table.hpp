// The places of an array's encoded chunks that have no files of their own, as read from a file's
// library or a shard's index.
//
// There may be a hundred million chunks, and several parts of a program may have the table of the
// same array. Places are therefore kept in blocks of some thousand chunks each
// (array/word_blocks.hpp). A place takes 16 bytes if chunks follow each other without gaps,
// otherwise 24.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "array/word_blocks.hpp"

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

  // Returns the blocks, for processes that keep them once.
  [[nodiscard]] const array::WordBlocks& blocks() const { return blocks_; }
  [[nodiscard]] array::WordBlocks& blocks() { return blocks_; }

  // Returns how many chunks have a place.
  [[nodiscard]] std::int64_t size() const;
  // Returns the entries from chunk `from` on, in ascending order.
  [[nodiscard]] std::vector<Entry> entries(std::int64_t from = 0) const;
  friend bool operator==(const EncodedTable& a, const EncodedTable& b);

 private:
  class Page;

  // Returns the first page that contains, or would contain, this chunk or a later one.
  [[nodiscard]] std::size_t page_for(std::int64_t chunk) const;

  array::WordBlocks blocks_;  // by ascending chunk; each is a page, and none is empty
};

}  // namespace weir::storage

// The bytes of a file that the ranks have handed to a stager, and that may not be in the file yet.
#pragma once

#include <cstdint>
#include <map>

#include "array/byte_grid.hpp"

namespace weir::takeover {

// Knows them as ranges. A range may have bytes that were not handed over: those between rows of a
// call, and, when ranges have become many, those between ranges.
class StagedBytes {
 public:
  // Adds what all ranks have in a grid.
  void add(const array::ByteGrid& grid);
  // Adds what the others of the ranks have there, each its own range.
  void add_others(const array::ByteGrid& grid, int rank);
  void add(std::int64_t begin, std::int64_t end);
  void clear() { ends_.clear(); }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  // Returns whether a byte from `begin` on and before `end` may be one of them.
  [[nodiscard]] bool meets(std::int64_t begin, std::int64_t end) const;
  // Returns whether a byte between the first and the last one of a grid may be one of them.
  [[nodiscard]] bool meets(const array::ByteGrid& grid) const;
  // Returns the offset behind the last one; 0: there are none.
  [[nodiscard]] std::int64_t end() const { return ends_.empty() ? 0 : ends_.rbegin()->second; }

 private:
  static constexpr std::size_t most_ranges = 1024;
  std::map<std::int64_t, std::int64_t> ends_;  // by the beginning of a range; ranges do not touch
};

}  // namespace weir::takeover

// Bytes of a file that are moved by one call and need not be one block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "array/byte_pattern.hpp"
#include "common/direction.hpp"

namespace weir::bench {

// Calls visit(offset, bytes) for each block of a pattern, in order, until it returns false. Returns
// whether all returned true.
template <typename Visit>
bool for_each_block(const array::BytePattern& pattern, const Visit& visit) {
  const auto& levels = pattern.levels();
  std::array<std::int64_t, array::BytePattern::most_levels> round{};
  std::int64_t at = pattern.offset();
  while (true) {
    if (!visit(at, pattern.block())) return false;
    int level = levels.size() - 1;
    for (; level >= 0; --level) {
      std::int64_t& one = round[static_cast<std::size_t>(level)];
      if (++one < levels[level].count) break;
      at -= (levels[level].count - 1) * levels[level].stride;
      one = 0;
    }
    if (level < 0) return true;
    at += levels[level].stride;
  }
}

// A call that moves the bytes of patterns, which ascend, between a file and memory, where they
// follow each other.
struct BlocksRequest {
  Direction direction = Direction::write;
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;  // of all patterns together; may be 0
  std::span<const array::BytePattern> patterns = {};
  std::int64_t offset = 0;  // is added to those of the patterns
};

}  // namespace weir::bench

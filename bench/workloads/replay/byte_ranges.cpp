#include "workloads/replay/byte_ranges.hpp"

#include <algorithm>
#include <iterator>

namespace weir::bench::replay {

void ByteRanges::add(std::int64_t begin, std::int64_t end) {
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin() && std::prev(next)->second >= begin) {
    --next;
    if (next->second >= end) return;
    begin = next->first;
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
}

void ByteRanges::cut(std::int64_t end) {
  auto next = ranges_.lower_bound(end);
  if (next != ranges_.begin() && std::prev(next)->second > end) std::prev(next)->second = end;
  ranges_.erase(next, ranges_.end());
}

}  // namespace weir::bench::replay

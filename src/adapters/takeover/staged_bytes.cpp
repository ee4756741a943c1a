#include "adapters/takeover/staged_bytes.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace weir::takeover {
namespace {

// Returns the number of a byte of a grid from its first one on.
std::int64_t number_of(const array::Shape& shape, const array::Indices& index) {
  std::int64_t number = 0;
  for (int d = 0; d < shape.dimensions(); ++d) number = number * shape.extents()[d] + index[d];
  return number;
}

}  // namespace

void StagedBytes::add(const array::ByteGrid& grid) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const array::Box& box : grid.boxes) {
    if (box.empty()) continue;
    array::Indices last = box.lower;
    for (int d = 0; d < last.size(); ++d) last[d] = box.upper(d) - 1;
    begin = std::min(begin, number_of(grid.shape, box.lower));
    end = std::max(end, number_of(grid.shape, last) + 1);
  }
  if (end > 0) add(grid.offset + begin, grid.offset + end);
}

void StagedBytes::add(std::int64_t begin, std::int64_t end) {
  auto next = ends_.upper_bound(begin);
  if (next != ends_.begin() && std::prev(next)->second >= begin) {
    next = std::prev(next);
    begin = next->first;
  }
  while (next != ends_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace(begin, end);
  if (ends_.size() <= most_ranges) return;
  const std::int64_t first = ends_.begin()->first;
  const std::int64_t last = ends_.rbegin()->second;
  ends_ = {{first, last}};
}

bool StagedBytes::meets(std::int64_t begin, std::int64_t end) const {
  const auto behind = ends_.lower_bound(end);
  return begin < end && behind != ends_.begin() && std::prev(behind)->second > begin;
}

}  // namespace weir::takeover

#include "adapters/takeover/staged_bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

namespace weir::takeover {
namespace {

// Returns the number of a byte of a grid from its first one on.
std::int64_t number_of(const array::Shape& shape, const array::Indices& index) {
  std::int64_t number = 0;
  for (int d = 0; d < shape.dimensions(); ++d) number = number * shape.extents()[d] + index[d];
  return number;
}

// Return the offsets of the first byte of a box, which is not empty, and behind its last one.
std::int64_t begin_of(const array::ByteGrid& grid, const array::Box& box) {
  return grid.offset + number_of(grid.shape, box.lower);
}
std::int64_t end_of(const array::ByteGrid& grid, const array::Box& box) {
  array::Indices last = box.lower;
  for (int d = 0; d < last.size(); ++d) last[d] = box.upper(d) - 1;
  return grid.offset + number_of(grid.shape, last) + 1;
}

// Returns from where to where the ranks have bytes in a grid. They have none if the end is not
// behind the beginning.
std::pair<std::int64_t, std::int64_t> range_of(const array::ByteGrid& grid) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const array::Box& box : grid.boxes) {
    if (box.empty()) continue;
    begin = std::min(begin, begin_of(grid, box));
    end = std::max(end, end_of(grid, box));
  }
  return {begin, end};
}

}  // namespace

void StagedBytes::add(const array::ByteGrid& grid) {
  const auto [begin, end] = range_of(grid);
  if (end > begin) add(begin, end);
}

void StagedBytes::add_others(const array::ByteGrid& grid, int rank) {
  for (std::size_t other = 0; other < grid.boxes.size(); ++other) {
    const array::Box& box = grid.boxes[other];
    if (other == static_cast<std::size_t>(rank) || box.empty()) continue;
    add(begin_of(grid, box), end_of(grid, box));
  }
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

bool StagedBytes::meets(const array::ByteGrid& grid) const {
  const auto [begin, end] = range_of(grid);
  return meets(begin, end);
}

}  // namespace weir::takeover

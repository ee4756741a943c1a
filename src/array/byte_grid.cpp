#include "array/byte_grid.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace weir::array {
namespace {

using Strides = std::vector<std::int64_t>;

// Returns all strides, each a multiple of the next one. Nothing if they are not.
std::optional<Strides> strides_of(std::span<const BytePattern> patterns) {
  Strides strides;
  for (const BytePattern& pattern : patterns) {
    for (const PatternLevel& level : pattern.levels()) {
      if (std::ranges::find(strides, level.stride) != strides.end()) continue;
      if (strides.size() + 1 == max_dimensions) return std::nullopt;
      strides.push_back(level.stride);
    }
  }
  std::ranges::sort(strides, std::greater<>());
  for (std::size_t i = 1; i < strides.size(); ++i) {
    if (strides[i - 1] % strides[i] != 0) return std::nullopt;
  }
  return strides;
}

// Returns the extents of the pattern along the dimensions of the grid.
std::optional<Indices> extents_of(const BytePattern& pattern, const Strides& strides) {
  const int dimensions = static_cast<int>(strides.size()) + 1;
  Indices extents(dimensions, 1);
  std::int64_t block = pattern.block();
  for (int d = 0; d + 1 < dimensions; ++d) {
    const std::int64_t stride = strides[static_cast<std::size_t>(d)];
    for (const PatternLevel& level : pattern.levels()) {
      if (level.stride == stride) extents[d] = level.count;
    }
    if (block < stride) continue;
    if (block % stride != 0) return std::nullopt;
    extents[d] = block / stride;
    block = stride;
  }
  extents.back() = block;
  return extents;
}

// Returns the box of the pattern in a grid that begins at `origin`. Nothing if it passes the end of
// a row.
std::optional<Box> box_of(const BytePattern& pattern, const Strides& strides, std::int64_t origin) {
  const int dimensions = static_cast<int>(strides.size()) + 1;
  if (pattern.empty()) return Box{Indices(dimensions), Indices(dimensions)};
  const auto extents = extents_of(pattern, strides);
  std::int64_t left = pattern.offset() - origin;
  if (!extents || left < 0) return std::nullopt;
  Box box{Indices(dimensions), *extents};
  std::int64_t row = std::numeric_limits<std::int64_t>::max();
  for (int d = 0; d < dimensions; ++d) {
    const std::int64_t stride = d + 1 < dimensions ? strides[static_cast<std::size_t>(d)] : 1;
    box.lower[d] = left / stride;
    left %= stride;
    if (box.upper(d) > row / stride) return std::nullopt;
    row = stride;
  }
  return box;
}

std::optional<ByteGrid> grid_from(std::span<const BytePattern> patterns, const Strides& strides,
                                  std::int64_t origin) {
  ByteGrid grid;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const BytePattern& pattern : patterns) {
    const auto box = box_of(pattern, strides, origin);
    if (!box) return std::nullopt;
    grid.boxes.push_back(*box);
    if (box->empty()) continue;
    first = std::min(first, box->lower[0]);
    end = std::max(end, box->upper(0));
  }
  Indices extents(static_cast<int>(strides.size()) + 1, 1);
  extents[0] = std::max<std::int64_t>(0, end - first);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::int64_t inner = i + 1 < strides.size() ? strides[i + 1] : 1;
    extents[static_cast<int>(i) + 1] = strides[i] / inner;
  }
  auto shape = Shape::create(extents);
  if (!shape) return std::nullopt;
  grid.shape = std::move(shape).value();
  if (end == 0) return grid;
  grid.offset = origin + first * (strides.empty() ? 1 : strides.front());
  for (Box& box : grid.boxes) {
    if (!box.empty()) box.lower[0] -= first;
  }
  return grid;
}

}  // namespace

std::optional<ByteGrid> grid_of(std::span<const BytePattern> patterns,
                                std::optional<std::int64_t> origin) {
  const auto strides = strides_of(patterns);
  if (!strides) return std::nullopt;
  std::optional<std::int64_t> first;
  for (const BytePattern& pattern : patterns) {
    if (!pattern.empty() && (!first || pattern.offset() < *first)) first = pattern.offset();
  }
  auto grid = grid_from(patterns, *strides, first.value_or(0));
  if (!grid && origin && first && *origin <= *first) grid = grid_from(patterns, *strides, *origin);
  return grid;
}

}  // namespace weir::array

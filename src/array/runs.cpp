#include "array/runs.hpp"

#include <algorithm>
#include <cstdlib>

namespace weir::array {

Runs Runs::of(const UniformRegion& region, const Layout& layout) {
  Runs runs;
  runs.bytes = layout.element_bytes();
  Indices start;
  PerDimension<RunLevel, max_levels> levels;
  for (int d = 0; d < region.size(); ++d) {
    const UniformBlocks& blocks = region[d];
    const std::int64_t stride = layout.stride(d);
    start.push_back(blocks.start);
    if (blocks.count > 1) levels.push_back({blocks.count, blocks.stride * stride});
    if (blocks.length > 1) levels.push_back({blocks.length, stride});
  }
  runs.offset = layout.offset_of(start);
  std::stable_sort(levels.begin(), levels.end(), [](const RunLevel& a, const RunLevel& b) {
    return std::abs(a.stride) > std::abs(b.stride);
  });
  // From the innermost level outwards, merges each level into the run or into the level inside it.
  PerDimension<RunLevel, max_levels> inner_first;
  for (int at = levels.size() - 1; at >= 0; --at) {
    const RunLevel& level = levels[at];
    if (inner_first.empty() && level.stride == runs.bytes) {
      runs.bytes *= level.count;
    } else if (!inner_first.empty() &&
               level.stride == inner_first.back().stride * inner_first.back().count) {
      inner_first.back().count *= level.count;
    } else {
      inner_first.push_back(level);
    }
  }
  for (int at = inner_first.size() - 1; at >= 0; --at) runs.levels.push_back(inner_first[at]);
  return runs;
}

std::int64_t Runs::count() const {
  if (bytes == 0) return 0;
  std::int64_t product = 1;
  for (const RunLevel& level : levels) product *= level.count;
  return product;
}

namespace {

Odometer<max_levels>::Counts counts_of(const Runs& runs) {
  Odometer<max_levels>::Counts counts;
  for (const RunLevel& level : runs.levels) counts.push_back(level.count);
  return counts;
}

}  // namespace

RunOffsets::RunOffsets(const Runs& runs) : runs_(runs), offset_(runs.offset) {
  if (runs.bytes > 0) place_ = Odometer<max_levels>(counts_of(runs));
}

bool RunOffsets::next(std::int64_t& offset) {
  if (!place_.valid()) return false;
  offset = offset_;
  const int changed = place_.advance();
  if (changed < 0) return true;
  offset_ += runs_.levels[changed].stride;
  for (int level = changed + 1; level < runs_.levels.size(); ++level) {
    offset_ -= runs_.levels[level].stride * (runs_.levels[level].count - 1);
  }
  return true;
}

}  // namespace weir::array

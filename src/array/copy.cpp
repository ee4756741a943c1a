#include "array/copy.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

#include "array/byte_swap.hpp"
#include "array/copy_kernels.hpp"
#include "array/odometer.hpp"

namespace weir::array {
namespace {

// The copy traverses two levels in tiles if one of them has the narrowest stride of the source and
// the other the narrowest stride of the target. This is the side of a tile in runs: twice the
// number of doubles in a cache line, so that the cache lines of both sides stay in L1.
constexpr std::int64_t tile_side = 16;

// The way in which runs are moved.
struct Way {
  bool streamed = false;
  std::int64_t number_bytes = 1;  // bytes of a number, whose order is reversed
};

void move_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size,
               const Way& way) {
  if (way.number_bytes == 1) {
    (way.streamed ? stream_runs : copy_runs)(from, to, level, size);
  } else {
    (way.streamed ? stream_swapped_runs : swap_runs)(from, to, level, size, way.number_bytes);
  }
}

// Copies two levels of runs in tiles. The inner level has the narrowest stride of the target, the
// outer level that of the source.
void copy_tiled(const std::byte* from, std::byte* to, const CopyLevel& outer,
                const CopyLevel& inner, std::size_t size, const Way& way) {
  for (std::int64_t i = 0; i < outer.count; i += tile_side) {
    const std::int64_t outer_count = std::min(tile_side, outer.count - i);
    for (std::int64_t j = 0; j < inner.count; j += tile_side) {
      const CopyLevel row{std::min(tile_side, inner.count - j), inner.from_stride, inner.to_stride};
      for (std::int64_t k = i; k < i + outer_count; ++k) {
        move_runs(from + k * outer.from_stride + j * inner.from_stride,
                  to + k * outer.to_stride + j * inner.to_stride, row, size, way);
      }
    }
  }
}

using CopyLevels = PerDimension<CopyLevel, max_levels>;

// Moves the level with the source's narrowest stride next to the innermost level, so that
// copy_tiled() traverses both. Returns false if it is the innermost level already.
bool bring_narrow_reading_inwards(CopyLevels& levels) {
  CopyLevel* const narrowest =
      std::min_element(levels.begin(), levels.end(), [](const CopyLevel& a, const CopyLevel& b) {
        return std::abs(a.from_stride) < std::abs(b.from_stride);
      });
  if (narrowest + 1 == levels.end()) return false;
  std::rotate(narrowest, narrowest + 1, levels.end() - 1);
  return true;
}

// Returns whether the runs can be written past the caches, judged by the runs of the innermost
// level.
bool can_stream(const CopyLevels& levels, const std::byte* to, std::size_t size) {
  return std::all_of(levels.begin(), levels.end(),
                     [](const CopyLevel& level) { return runs_can_stream_by(level.to_stride); }) &&
         runs_can_stream(to, levels.back(), size);
}

}  // namespace

StridedCopy StridedCopy::between(const UniformRegion& from_region, const Layout& from,
                                 const UniformRegion& to_region, const Layout& to) {
  assert(from.element_bytes() == to.element_bytes());
  StridedCopy copy;
  copy.bytes = from.element_bytes();
  Indices from_start;
  Indices to_start;
  CopyLevels levels;
  for (int d = 0; d < from_region.size(); ++d) {
    const UniformBlocks& source = from_region[d];
    const UniformBlocks& target = to_region[d];
    assert(source.count == target.count && source.length == target.length);
    from_start.push_back(source.start);
    to_start.push_back(target.start);
    if (source.count > 1) {
      levels.push_back(
          {source.count, source.stride * from.stride(d), target.stride * to.stride(d)});
    }
    if (source.length > 1) levels.push_back({source.length, from.stride(d), to.stride(d)});
  }
  copy.from_offset = from.offset_of(from_start);
  copy.to_offset = to.offset_of(to_start);
  std::stable_sort(levels.begin(), levels.end(), [](const CopyLevel& a, const CopyLevel& b) {
    return std::abs(a.to_stride) > std::abs(b.to_stride);
  });
  CopyLevels inner_first;
  for (int at = levels.size() - 1; at >= 0; --at) {
    const CopyLevel& level = levels[at];
    if (inner_first.empty() && level.from_stride == copy.bytes && level.to_stride == copy.bytes) {
      copy.bytes *= level.count;
      continue;
    }
    if (!inner_first.empty()) {
      CopyLevel& inside = inner_first.back();
      if (level.from_stride == inside.from_stride * inside.count &&
          level.to_stride == inside.to_stride * inside.count) {
        inside.count *= level.count;
        continue;
      }
    }
    inner_first.push_back(level);
  }
  for (int at = inner_first.size() - 1; at >= 0; --at) copy.levels.push_back(inner_first[at]);
  return copy;
}

void StridedCopy::run(const std::byte* from, std::byte* to, Target target,
                      std::int64_t number_bytes) const {
  if (bytes == 0) return;
  assert(bytes % number_bytes == 0);
  const auto size = static_cast<std::size_t>(bytes);
  from += from_offset;
  to += to_offset;
  CopyLevels ordered = levels;
  if (ordered.empty()) ordered.push_back({1, 0, 0});
  const bool tiled = bring_narrow_reading_inwards(ordered);
  const Way way{target == Target::streamed && !tiled && can_stream(ordered, to, size),
                number_bytes};
  const CopyLevel& inner = ordered.back();
  const int outer = std::max(0, ordered.size() - 2);
  const CopyLevel second = outer < ordered.size() - 1 ? ordered[outer] : CopyLevel{1, 0, 0};
  Odometer<max_levels>::Counts counts;
  for (int level = 0; level < outer; ++level) counts.push_back(ordered[level].count);
  for (Odometer<max_levels> place(counts); place.valid();) {
    if (tiled) {
      copy_tiled(from, to, second, inner, size, way);
    } else {
      for (std::int64_t k = 0; k < second.count; ++k) {
        move_runs(from + k * second.from_stride, to + k * second.to_stride, inner, size, way);
      }
    }
    const int changed = place.advance();
    if (changed < 0) break;
    from += ordered[changed].from_stride;
    to += ordered[changed].to_stride;
    for (int level = changed + 1; level < outer; ++level) {
      from -= ordered[level].from_stride * (ordered[level].count - 1);
      to -= ordered[level].to_stride * (ordered[level].count - 1);
    }
  }
  if (way.streamed) end_streaming();
}

std::int64_t StridedCopy::runs() const {
  if (bytes == 0) return 0;
  std::int64_t product = 1;
  for (const CopyLevel& level : levels) product *= level.count;
  return product;
}

void copy_box(const Indices& extents, const std::byte* from, const Layout& from_layout,
              const Indices& from_lower, std::byte* to, const Layout& to_layout,
              const Indices& to_lower) {
  const Box source{from_lower, extents};
  if (source.empty()) return;
  StridedCopy::between(uniform_box(source), from_layout, uniform_box({to_lower, extents}),
                       to_layout)
      .run(from, to);
}

}  // namespace weir::array

#include "sections/spans.hpp"

#include <algorithm>
#include <utility>

#include "array/odometer.hpp"
#include "array/region.hpp"

namespace weir::storage {
namespace {

using array::Indices;
using array::Layout;
using array::Section;
using array::StridedCopy;
using array::UniformRegion;

// Holes are read, too, if they are at most three times as long as the requested bytes, or if the
// whole read is not longer than this: shorter reads are not faster.
constexpr std::int64_t short_read = std::int64_t{64} << 10;
constexpr std::int64_t most_read_per_asked = 4;
// Holes are also read if the runs begin at most this far apart, because a call for each run would
// cost more.
constexpr std::int64_t most_read_per_run = std::int64_t{8} << 10;

// These functions return the regions of the section's elements in the stored array and in memory.
// Both regions have the same counts and lengths along each dimension.
UniformRegion stored_region(const Section& section) {
  UniformRegion region;
  for (int d = 0; d < section.dimensions(); ++d) {
    if (section.stride[d] == 1) {
      region.push_back(
          {.start = section.start[d], .length = section.count[d], .stride = 0, .count = 1});
    } else {
      region.push_back({.start = section.start[d],
                        .length = 1,
                        .stride = section.stride[d],
                        .count = section.count[d]});
    }
  }
  return region;
}

UniformRegion memory_region(const Section& section, const Indices& at) {
  UniformRegion region;
  for (int d = 0; d < section.dimensions(); ++d) {
    if (section.stride[d] == 1) {
      region.push_back({.start = at[d], .length = section.count[d], .stride = 0, .count = 1});
    } else {
      region.push_back({.start = at[d], .length = 1, .stride = 1, .count = section.count[d]});
    }
  }
  return region;
}

// Returns the number of bytes from the first to the last element of the section, both included.
std::int64_t reach(const Layout& stored, const Section& section) {
  std::int64_t bytes = stored.element_bytes();
  for (int d = 0; d < section.dimensions(); ++d) {
    bytes += (section.count[d] - 1) * section.stride[d] * stored.stride(d);
  }
  return bytes;
}

// Returns the dimension with several indices whose indices are farthest apart in the file, or -1 if
// there is none.
int widest_dimension(const Layout& stored, const Section& section) {
  int widest = -1;
  for (int d = 0; d < section.dimensions(); ++d) {
    if (section.count[d] > 1 && (widest < 0 || stored.stride(d) > stored.stride(widest))) {
      widest = d;
    }
  }
  return widest;
}

// Returns the number of contiguous runs of bytes of the section.
std::int64_t runs_of(const Layout& stored, const Section& section) {
  std::int64_t run = stored.element_bytes();
  for (bool longer = true; longer;) {
    longer = false;
    for (int d = 0; d < section.dimensions(); ++d) {
      if (section.count[d] > 1 && section.stride[d] == 1 && stored.stride(d) == run) {
        run *= section.count[d];
        longer = true;
      }
    }
  }
  return section.elements() * stored.element_bytes() / run;
}

// Returns whether one call should read the bytes of the section and those between them.
bool worth_reading(const Layout& stored, const Section& section, std::int64_t most) {
  const std::int64_t span = reach(stored, section);
  if (span > most) return false;
  const std::int64_t asked = section.elements() * stored.element_bytes();
  return span <= short_read || span / most_read_per_asked <= asked ||
         span / most_read_per_run <= runs_of(stored, section);
}

}  // namespace

SpanCutter::SpanCutter(SpanUse use, const Layout& memory, const SpanLimits& limits, Take take)
    : use_(use), memory_(memory), limits_(limits), take_(std::move(take)) {}

Status SpanCutter::give(std::int64_t file, const Layout& stored, const Section& section,
                        const Indices& memory_at, std::int64_t begin, std::int64_t end) const {
  Span span{file, begin, end, {}};
  if (use_ == SpanUse::reading) {
    span.copy = copy_to_memory(section, stored, memory_at, memory_);
    span.copy.from_offset -= begin;
  } else {
    span.copy = copy_from_memory(section, stored, memory_at, memory_);
    span.copy.to_offset -= begin;
  }
  return take_(span);
}

Status SpanCutter::cut(std::int64_t file, const Layout& stored, const Section& section,
                       const Indices& memory_at) const {
  if (section.empty()) return {};
  const std::int64_t begin = stored.offset_of(section.start);
  const std::int64_t span = reach(stored, section);
  const std::int64_t asked = section.elements() * stored.element_bytes();
  const int widest = widest_dimension(stored, section);
  const bool whole = span == asked;
  if (widest < 0 || (whole && span <= limits_.most_bytes) ||
      (use_ == SpanUse::reading && worth_reading(stored, section, limits_.most_bytes))) {
    return give(file, stored, section, memory_at, begin, begin + span);
  }
  if (whole && limits_.long_runs) {
    // The span is longer than a buffer, but it may not need one.
    const StridedCopy copy = copy_to_memory(section, stored, memory_at, memory_);
    if (copy.levels.empty()) return give(file, stored, section, memory_at, begin, begin + span);
  }

  // Takes as many indices of the widest dimension as fit into a span, or one index if not even one
  // fits.
  const std::int64_t apart = section.stride[widest] * stored.stride(widest);
  Section part = section;
  part.count[widest] = 1;
  const std::int64_t inner = reach(stored, part);
  std::int64_t together =
      inner > limits_.most_bytes
          ? 1
          : std::min(section.count[widest],
                     std::max<std::int64_t>(
                         1, (limits_.most_bytes - inner) / std::max<std::int64_t>(1, apart) + 1));
  part.count[widest] = together;
  const std::int64_t grouped = reach(stored, part);
  const std::int64_t grouped_asked = part.elements() * stored.element_bytes();
  const bool groups_are_spans =
      grouped == grouped_asked ||
      (use_ == SpanUse::reading && worth_reading(stored, part, limits_.most_bytes));
  if (!groups_are_spans) together = 1;
  Indices at = memory_at;
  for (std::int64_t done = 0; done < section.count[widest]; done += together) {
    part.start[widest] = section.start[widest] + done * section.stride[widest];
    part.count[widest] = std::min(together, section.count[widest] - done);
    at[widest] = memory_at[widest] + done;
    if (Status status = cut(file, stored, part, at); !status.ok()) return status;
  }
  return {};
}

void for_each_target_run(const StridedCopy& copy,
                         const std::function<void(std::int64_t, std::int64_t)>& visit) {
  array::Odometer<array::max_levels>::Counts counts;
  for (const array::CopyLevel& level : copy.levels) counts.push_back(level.count);
  std::int64_t offset = copy.to_offset;
  for (array::Odometer<array::max_levels> place(counts); place.valid();) {
    visit(offset, copy.bytes);
    const int changed = place.advance();
    if (changed < 0) break;
    offset += copy.levels[changed].to_stride;
    for (int level = changed + 1; level < copy.levels.size(); ++level) {
      offset -= copy.levels[level].to_stride * (copy.levels[level].count - 1);
    }
  }
}

StridedCopy copy_to_memory(const Section& section, const Layout& stored, const Indices& memory_at,
                           const Layout& memory) {
  return StridedCopy::between(stored_region(section), stored, memory_region(section, memory_at),
                              memory);
}

StridedCopy copy_from_memory(const Section& section, const Layout& stored, const Indices& memory_at,
                             const Layout& memory) {
  return StridedCopy::between(memory_region(section, memory_at), memory, stored_region(section),
                              stored);
}

}  // namespace weir::storage

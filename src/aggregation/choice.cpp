#include "aggregation/choice.hpp"

#include <algorithm>
#include <optional>

#include "array/runs.hpp"

namespace weir::aggregation {
namespace {

// Where one system call per row costs less than copying the row once more.
constexpr std::int64_t long_row_bytes = 64 << 10;

std::optional<array::Region> holding(const array::Distribution& memory,
                                     const array::Indices& index) {
  if (const array::RegularDistribution* const regular = memory.regular()) {
    return regular->part(regular->owner(index));
  }
  array::Box element{index, array::Indices(index.size(), 1)};
  const array::ExplicitDistribution& boxes = *memory.explicit_boxes();
  const std::vector<std::int64_t> meeting = boxes.boxes_meeting(element);
  if (meeting.empty()) return std::nullopt;
  return array::Region(boxes.boxes()[meeting.front()]);
}

}  // namespace

std::int64_t example_run_bytes(const RequestedPart& part) {
  const array::Region& section = part.part->section;
  if (section.empty()) return 0;
  const array::Indices first = section.bounding_box().lower;
  const auto held = holding(*part.part->memory, first);
  if (!held) return 0;
  const array::Box chunk = part.file->grid().box(part.file->grid().chunk_of(first));
  array::CommonRegions regions(held->clipped(chunk), section);
  array::Region common;
  if (!regions.next(common)) return 0;
  array::UniformRegions uniforms(common);
  array::UniformRegion uniform;
  if (!uniforms.next(uniform)) return 0;
  const auto layout = array::Layout::packed(chunk.extent, part.file->array().type.bytes(),
                                            part.file->array().order);
  return array::Runs::of(array::relative_to(uniform, chunk), layout.value()).bytes;
}

Strategy choose_strategy(const std::vector<RequestedPart>& parts, int nodes) {
  const bool all_long = std::all_of(parts.begin(), parts.end(), [](const RequestedPart& part) {
    return part.part->section.empty() || example_run_bytes(part) >= long_row_bytes;
  });
  if (all_long) return Strategy::direct;
  return nodes == 1 ? Strategy::node : Strategy::two_phase;
}

}  // namespace weir::aggregation

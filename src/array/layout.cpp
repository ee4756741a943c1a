#include "array/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>

#include "array/shape.hpp"
#include "common/checked.hpp"

namespace weir::array {
namespace {

Error too_large(const Indices& extents, std::int64_t element_bytes) {
  return invalid_argument(
      fmt::format("an array of {} elements of {} bytes, with its strides and ghost cells, takes "
                  "more than 2^63 bytes of memory",
                  extents_text(extents), element_bytes));
}

// Returns the strides of a dense array of these extents, or nothing if they overflow.
std::optional<Indices> dense_strides(const Indices& extents, std::int64_t element_bytes,
                                     Order order) {
  Indices strides(extents.size());
  std::int64_t stride = element_bytes;
  for (int depth = extents.size() - 1; depth >= 0; --depth) {
    const int d = dimension_at_depth(order, extents.size(), depth);
    strides[d] = stride;
    const auto next = checked_multiply(stride, std::max<std::int64_t>(1, extents[d]));
    if (!next) return std::nullopt;
    stride = *next;
  }
  return strides;
}

}  // namespace

Result<Layout> Layout::strided(const Indices& extents, std::int64_t element_bytes,
                               std::span<const std::int64_t> strides, std::int64_t offset) {
  if (static_cast<int>(strides.size()) != extents.size()) {
    return invalid_argument(fmt::format("{} strides are given for memory of {} dimensions",
                                        strides.size(), extents.size()));
  }
  const bool empty = Box{extents, extents}.empty();
  Bounds bounds{offset, offset};
  for (int d = 0; d < extents.size() && !empty; ++d) {
    const std::int64_t stride = strides[static_cast<std::size_t>(d)];
    const auto reach = checked_multiply(stride, extents[d] - 1);
    const auto moved =
        reach ? checked_add(stride < 0 ? bounds.lower : bounds.upper, *reach) : std::nullopt;
    if (!moved) return too_large(extents, element_bytes);
    (stride < 0 ? bounds.lower : bounds.upper) = *moved;
  }
  if (!empty) {
    const auto end = checked_add(bounds.upper, element_bytes);
    std::int64_t width = 0;
    if (!end || __builtin_sub_overflow(*end, bounds.lower, &width))
      return too_large(extents, element_bytes);
    bounds.upper = *end;
  }
  return Layout(extents, element_bytes, Indices(strides), offset, bounds);
}

Result<Layout> Layout::packed(const Indices& extents, std::int64_t element_bytes, Order order,
                              std::int64_t offset) {
  const auto strides = dense_strides(extents, element_bytes, order);
  if (!strides) return too_large(extents, element_bytes);
  return strided(extents, element_bytes, std::span(strides->begin(), strides->end()), offset);
}

Result<Layout> Layout::with_ghosts(const Indices& extents, std::int64_t element_bytes, Order order,
                                   const GhostCells& ghosts) {
  if (ghosts.lower.size() != extents.size() || ghosts.upper.size() != extents.size()) {
    return invalid_argument(fmt::format("ghost cells along {} and {} dimensions of memory of {}",
                                        ghosts.lower.size(), ghosts.upper.size(), extents.size()));
  }
  Indices allocated;
  for (int d = 0; d < extents.size(); ++d) {
    if (ghosts.lower[d] < 0 || ghosts.upper[d] < 0) {
      return invalid_argument(
          fmt::format("ghost cells along dimension {2} are {0} and {1}: give 0 or more",
                      ghosts.lower[d], ghosts.upper[d], d));
    }
    const auto with_lower = checked_add(extents[d], ghosts.lower[d]);
    const auto with_both = with_lower ? checked_add(*with_lower, ghosts.upper[d]) : std::nullopt;
    if (!with_both) return too_large(extents, element_bytes);
    allocated.push_back(*with_both);
  }
  // The layout takes its strides, and the offset of the first element that is not a ghost cell,
  // from the array with ghost cells, all of whose offsets must fit.
  auto whole = packed(allocated, element_bytes, order);
  if (!whole) return too_large(extents, element_bytes);
  const Layout& outer = whole.value();
  return strided(extents, element_bytes, std::span(outer.strides_.begin(), outer.strides_.end()),
                 outer.offset_of(ghosts.lower));
}

std::int64_t Layout::offset_of(const Indices& index) const {
  std::int64_t at = offset_;
  for (int d = 0; d < dimensions(); ++d) at += strides_[d] * index[d];
  return at;
}

bool Layout::elements_are_apart() const {
  struct Step {
    std::int64_t stride;
    std::int64_t extent;
  };
  PerDimension<Step> steps;
  for (int d = 0; d < dimensions(); ++d) {
    if (extents_[d] == 0) return true;
    if (extents_[d] == 1) continue;
    steps.push_back({std::abs(strides_[d]), extents_[d]});
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.stride < b.stride; });
  std::int64_t covered = element_bytes_;  // bytes that the dimensions examined so far span
  for (const Step& step : steps) {
    if (step.stride < covered) return false;
    covered += step.stride * (step.extent - 1);
  }
  return true;
}

}  // namespace weir::array

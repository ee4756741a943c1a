#include "array/explicit_distribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace weir::array {

Result<ExplicitDistribution> ExplicitDistribution::create(
    const Shape& shape, std::span<const std::int64_t> boxes_per_rank, const BoxList& boxes) {
  if (boxes.dimensions() != shape.dimensions()) {
    return invalid_argument(fmt::format("the boxes have {} dimensions, but the array has {}",
                                        boxes.dimensions(), shape.dimensions()));
  }
  const auto ranks = static_cast<std::int64_t>(boxes_per_rank.size());
  const auto bytes = BoxTable::image_bytes(shape, ranks, boxes.size());
  if (!bytes) return bytes.error();
  const auto words = std::make_shared<std::vector<std::uint64_t>>(
      static_cast<std::size_t>(bytes.value()) / sizeof(std::uint64_t));
  const auto table = std::make_shared<const BoxTable>(
      shape, ranks, boxes.size(),
      std::shared_ptr<std::byte>(words, reinterpret_cast<std::byte*>(words->data())));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    table->set_count(rank, boxes_per_rank[static_cast<std::size_t>(rank)]);
  }
  Status made = table->add_up_counts();
  const std::span<const std::int64_t> numbers(boxes.numbers());
  const auto per_box = 2 * static_cast<std::size_t>(shape.dimensions());
  for (std::int64_t rank = 0; rank < ranks && made.ok(); ++rank) {
    const auto first = static_cast<std::size_t>(table->first_box(rank)) * per_box;
    const auto end = static_cast<std::size_t>(table->first_box(rank + 1)) * per_box;
    made = table->set_boxes(rank, numbers.subspan(first, end - first));
  }
  if (made.ok()) made = table->list_boxes();
  if (!made.ok()) return made.error();
  table->build_below(0, 0);
  return ExplicitDistribution(table);
}

std::int64_t ExplicitDistribution::elements(std::int64_t rank) const {
  std::int64_t sum = 0;
  for (std::int64_t number = first_box(rank); number < first_box(rank + 1); ++number) {
    sum += boxes().section(number).elements();
  }
  return sum;
}

std::optional<std::int64_t> ExplicitDistribution::owner(const Indices& index) const {
  for (const std::int64_t number : boxes_meeting({index, Indices(index.size(), 1)})) {
    if (!boxes().is_strided() || piece(number).contains(index)) return rank_of_box(number);
  }
  return std::nullopt;
}

Status ExplicitDistribution::check_disjoint(std::int64_t rank) const {
  const auto name = [&](std::int64_t number) {
    const std::int64_t holder = rank_of_box(number);
    if (boxes().is_strided()) {
      const Section region = boxes().section(number);
      return fmt::format("the region of rank {}, ({}) + ({}) in strides of ({}),", holder,
                         fmt::join(region.start, ", "), extents_text(region.count),
                         fmt::join(region.stride, ", "));
    }
    const Box box = boxes()[number];
    return fmt::format("box {} of rank {}, ({}) + ({}),", number - first_box(holder), holder,
                       fmt::join(box.lower, ", "), extents_text(box.extent));
  };
  for (std::int64_t number = first_box(rank); number < first_box(rank + 1); ++number) {
    const auto other = boxes().overlapping(number);
    if (!other) continue;
    return invalid_argument(
        fmt::format("{} and {} have elements in common; in a write each element comes from one {}",
                    name(std::min(number, *other)), name(std::max(number, *other)),
                    boxes().is_strided() ? "rank" : "box"));
  }
  return {};
}

Status ExplicitDistribution::check_disjoint() const {
  for (std::int64_t rank = 0; rank < ranks(); ++rank) {
    if (Status disjoint = check_disjoint(rank); !disjoint.ok()) return disjoint;
  }
  return {};
}

}  // namespace weir::array

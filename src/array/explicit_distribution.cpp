#include "array/explicit_distribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/checked.hpp"

namespace weir::array {
namespace {

std::string box_text(const BoxList& boxes, std::int64_t number) {
  const Box box = boxes[number];
  return fmt::format("({}) + ({})", fmt::join(box.lower, ", "), extents_text(box.extent));
}

}  // namespace

ExplicitDistribution::ExplicitDistribution(const Shape& shape, std::vector<std::int64_t> first_box,
                                           BoxList boxes)
    : shape_(shape), first_box_(std::move(first_box)), boxes_(std::move(boxes)), index_(boxes_) {}

Result<ExplicitDistribution> ExplicitDistribution::create(
    const Shape& shape, std::span<const std::int64_t> boxes_per_rank, BoxList boxes) {
  std::vector<std::int64_t> first_box = {0};
  first_box.reserve(boxes_per_rank.size() + 1);
  for (const std::int64_t count : boxes_per_rank) {
    const auto next = checked_add(first_box.back(), count);
    if (count < 0 || !next) {
      return invalid_argument(
          fmt::format("rank {} with {} boxes: give 0 or more", first_box.size() - 1, count));
    }
    first_box.push_back(*next);
  }
  if (first_box.back() != boxes.size()) {
    return invalid_argument(fmt::format("{} boxes, but the ranks' counts add up to {}",
                                        boxes.size(), first_box.back()));
  }
  if (boxes.dimensions() != shape.dimensions()) {
    return invalid_argument(fmt::format("boxes of {} dimensions in an array of {}",
                                        boxes.dimensions(), shape.dimensions()));
  }
  std::int64_t elements = 0;
  for (std::size_t rank = 0; rank + 1 < first_box.size(); ++rank) {
    for (std::int64_t number = first_box[rank]; number < first_box[rank + 1]; ++number) {
      if (const Status inside = check_inside(boxes[number], shape); !inside) {
        return invalid_argument(fmt::format("box {} of rank {}: {}", number - first_box[rank], rank,
                                            inside.error().message));
      }
      const auto sum = checked_add(elements, boxes[number].elements());
      if (!sum) return invalid_argument("boxes of more than 2^63 elements, so many overlap");
      elements = *sum;
    }
  }
  return ExplicitDistribution(shape, std::move(first_box), std::move(boxes));
}

std::int64_t ExplicitDistribution::rank_of_box(std::int64_t number) const {
  // The last rank whose boxes start at or before this one: those before it with the same start
  // have no boxes.
  const auto after = std::upper_bound(first_box_.begin(), first_box_.end(), number);
  return after - first_box_.begin() - 1;
}

std::int64_t ExplicitDistribution::elements(std::int64_t rank) const {
  std::int64_t sum = 0;
  for (std::int64_t number = first_box(rank); number < first_box(rank + 1); ++number) {
    sum += boxes_[number].elements();
  }
  return sum;
}

std::optional<std::int64_t> ExplicitDistribution::owner(const Indices& index) const {
  const std::vector<std::int64_t> numbers = boxes_meeting({index, Indices(index.size(), 1)});
  if (numbers.empty()) return std::nullopt;
  return rank_of_box(numbers.front());
}

Status ExplicitDistribution::check_disjoint() const {
  const auto overlap = index_.find_overlap(boxes_);
  if (!overlap) return {};
  const auto name = [&](std::int64_t number) {
    const std::int64_t rank = rank_of_box(number);
    return fmt::format("box {} of rank {}, {},", number - first_box(rank), rank,
                       box_text(boxes_, number));
  };
  return invalid_argument(
      fmt::format("{} and {} have elements in common; in a write each element comes from one box",
                  name(overlap->first), name(overlap->second)));
}

bool ExplicitDistribution::covers_array() const {
  std::int64_t sum = 0;
  for (std::int64_t number = 0; number < boxes_.size(); ++number) {
    sum += boxes_[number].elements();
  }
  return sum == shape_.elements();
}

}  // namespace weir::array

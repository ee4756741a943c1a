#include "array/box_index.hpp"

#include <algorithm>
#include <limits>

namespace weir::array {

BoxIndex::BoxIndex(const BoxList& boxes)
    : dimensions_(static_cast<std::size_t>(boxes.dimensions())) {
  for (std::int64_t number = 0; number < boxes.size(); ++number) {
    if (!boxes.empty(number)) order_.push_back(number);
  }
  if (order_.empty()) return;
  const auto all = static_cast<std::int64_t>(order_.size());
  std::size_t nodes = 1;
  for (std::int64_t largest = all; largest > leaf_boxes; largest = (largest + 1) / 2) {
    nodes = 2 * nodes + 1;
  }
  bounds_.resize(2 * dimensions_ * nodes);
  build(boxes, {0, 0, all});
}

BoxIndex::Node BoxIndex::child(const Node& node, int which) {
  const std::int64_t middle = node.begin + (node.end - node.begin) / 2;
  return which == 0 ? Node{2 * node.number + 1, node.begin, middle}
                    : Node{2 * node.number + 2, middle, node.end};
}

void BoxIndex::set_bounds(std::size_t node, int dimension, std::int64_t lower, std::int64_t upper) {
  const std::size_t at = 2 * (node * dimensions_ + static_cast<std::size_t>(dimension));
  bounds_[at] = lower;
  bounds_[at + 1] = upper;
}

// The tree is as deep as log2 of the number of boxes.
// NOLINTNEXTLINE(misc-no-recursion)
void BoxIndex::build(const BoxList& boxes, const Node& node) {
  if (node.end - node.begin <= leaf_boxes) {
    bound_leaf(boxes, node);
    return;
  }
  const auto middle_of = [&](std::int64_t number, int d) {
    return boxes.lower(number, d) + boxes.extent(number, d) / 2;
  };
  int widest = 0;
  std::int64_t widest_spread = -1;
  for (int d = 0; d < boxes.dimensions(); ++d) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t greatest = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t at = node.begin; at < node.end; ++at) {
      const std::int64_t middle = middle_of(order_[static_cast<std::size_t>(at)], d);
      least = std::min(least, middle);
      greatest = std::max(greatest, middle);
    }
    if (greatest - least > widest_spread) {
      widest_spread = greatest - least;
      widest = d;
    }
  }
  const Node left = child(node, 0);
  const Node right = child(node, 1);
  std::nth_element(order_.begin() + node.begin, order_.begin() + left.end,
                   order_.begin() + node.end, [&](std::int64_t a, std::int64_t b) {
                     const std::int64_t middle_a = middle_of(a, widest);
                     const std::int64_t middle_b = middle_of(b, widest);
                     return middle_a != middle_b ? middle_a < middle_b : a < b;
                   });
  build(boxes, left);
  build(boxes, right);
  for (int d = 0; d < boxes.dimensions(); ++d) {
    set_bounds(node.number, d, std::min(lower(left.number, d), lower(right.number, d)),
               std::max(upper(left.number, d), upper(right.number, d)));
  }
}

void BoxIndex::bound_leaf(const BoxList& boxes, const Node& node) {
  for (int d = 0; d < boxes.dimensions(); ++d) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t greatest = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t at = node.begin; at < node.end; ++at) {
      const std::int64_t number = order_[static_cast<std::size_t>(at)];
      least = std::min(least, boxes.lower(number, d));
      greatest = std::max(greatest, boxes.upper(number, d));
    }
    set_bounds(node.number, d, least, greatest);
  }
}

bool BoxIndex::may_meet(const Node& node, const Box& box) const {
  for (int d = 0; d < box.dimensions(); ++d) {
    if (lower(node.number, d) >= box.upper(d) || box.lower[d] >= upper(node.number, d)) {
      return false;
    }
  }
  return true;
}

std::vector<std::int64_t> BoxIndex::meeting(const BoxList& boxes, const Box& box) const {
  std::vector<std::int64_t> numbers;
  visit_meeting(boxes, box, [&](std::int64_t number) {
    numbers.push_back(number);
    return true;
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<BoxIndex::Overlap> BoxIndex::find_overlap(const BoxList& boxes) const {
  for (std::int64_t first = 0; first < boxes.size(); ++first) {
    std::int64_t second = boxes.size();
    visit_meeting(boxes, boxes[first], [&](std::int64_t number) {
      if (number != first) second = std::min(second, number);
      return true;
    });
    if (second < boxes.size()) return Overlap{first, second};
  }
  return std::nullopt;
}

}  // namespace weir::array

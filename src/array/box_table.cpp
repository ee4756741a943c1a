#include "array/box_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <utility>

#include "array/fingerprint.hpp"
#include "common/checked.hpp"

namespace weir::array {
namespace {

constexpr std::int64_t word = 8;
constexpr std::int64_t greatest_narrow = std::numeric_limits<std::uint32_t>::max();

std::int64_t bytes_of(bool narrow) { return narrow ? word / 2 : word; }

// Returns the number of nodes of a tree of `boxes` boxes whose leaves all have the greatest depth.
std::optional<std::int64_t> nodes_for(std::int64_t boxes, std::int64_t leaf_boxes) {
  std::optional<std::int64_t> nodes = 1;
  for (std::int64_t largest = boxes; largest > leaf_boxes && nodes; largest = (largest + 1) / 2) {
    nodes = checked_multiply(*nodes, 2);
    if (nodes) nodes = checked_add(*nodes, 1);
  }
  return nodes;
}

}  // namespace

std::optional<BoxTable::Parts> BoxTable::parts(const Shape& shape, std::int64_t ranks,
                                               std::int64_t boxes, Content content) {
  Parts parts;
  parts.narrow_indices = std::all_of(shape.extents().begin(), shape.extents().end(),
                                     [](std::int64_t extent) { return extent <= greatest_narrow; });
  parts.narrow_order = boxes <= greatest_narrow;
  std::optional<std::int64_t> end = checked_round_up(sizeof(Header), word);
  // Adds a part of `count` × `each` numbers.
  const auto add = [&](std::optional<std::int64_t> count, std::int64_t each, bool narrow) {
    if (count) count = checked_multiply(*count, each);
    if (count) count = checked_multiply(*count, bytes_of(narrow));
    if (count) count = checked_round_up(*count, word);
    end = count && end ? checked_add(*end, *count) : std::nullopt;
    return end.value_or(0);
  };
  const std::int64_t per_box = std::int64_t{2} * shape.dimensions();
  parts.first_box = *end;
  parts.corners = add(checked_add(ranks, 1), 1, false);
  parts.strides = add(boxes, per_box, parts.narrow_indices);
  parts.order = content == Content::regions ? add(boxes, shape.dimensions(), parts.narrow_indices)
                                            : parts.strides;
  parts.bounds = add(boxes, 1, parts.narrow_order);
  parts.end = add(nodes_for(boxes, leaf_boxes), per_box, parts.narrow_indices);
  if (!end) return std::nullopt;
  return parts;
}

Result<std::int64_t> BoxTable::image_bytes(const Shape& shape, std::int64_t ranks,
                                           std::int64_t boxes, Content content) {
  const auto found = parts(shape, ranks, boxes, content);
  if (found) return found->end;
  return invalid_argument(
      fmt::format("a table of {} boxes has more than 2^63 bytes: give fewer, larger boxes", boxes));
}

BoxTable::BoxTable(const Shape& shape, std::int64_t ranks, std::int64_t boxes,
                   std::shared_ptr<std::byte> image, Content content)
    : shape_(shape),
      ranks_(ranks),
      boxes_(boxes),
      image_(std::move(image)),
      has_strides_(content == Content::regions) {
  const auto found = parts(shape, ranks, boxes, content);
  assert(found);
  std::byte* const first = image_.get();
  header_ = reinterpret_cast<Header*>(first);
  first_box_ = reinterpret_cast<std::int64_t*>(first + found->first_box);
  corners_ = {first + found->corners, found->narrow_indices};
  strides_ = {first + found->strides, found->narrow_indices};
  order_ = {first + found->order, found->narrow_order};
  bounds_ = {first + found->bounds, found->narrow_indices};
}

void BoxTable::set_count(std::int64_t rank, std::int64_t boxes) const {
  first_box_[rank + 1] = boxes;
}

std::span<std::uint64_t> BoxTable::count_words() const {
  return {reinterpret_cast<std::uint64_t*>(first_box_), static_cast<std::size_t>(ranks_) + 1};
}

std::span<std::uint64_t> BoxTable::box_words() const {
  auto* const first = reinterpret_cast<std::uint64_t*>(corners_.first());
  return {first, reinterpret_cast<std::uint64_t*>(order_.first())};
}

Status BoxTable::add_up_counts() const {
  std::int64_t sum = 0;
  for (std::int64_t rank = 0; rank < ranks_; ++rank) {
    const std::int64_t count = first_box_[rank + 1];
    const auto next = checked_add(sum, count);
    if (count < 0 || !next) {
      return invalid_argument(fmt::format("rank {} has {} boxes: give 0 or more", rank, count));
    }
    sum = *next;
    first_box_[rank + 1] = sum;
  }
  if (sum == boxes_) return {};
  return invalid_argument(fmt::format("{} boxes, but the ranks' counts add up to {}", boxes_, sum));
}

Status BoxTable::set_boxes(std::int64_t rank, std::span<const std::int64_t> numbers) const {
  const auto n = static_cast<std::size_t>(dimensions());
  const std::int64_t first = first_box(rank);
  const std::int64_t count = first_box(rank + 1) - first;
  if (static_cast<std::int64_t>(numbers.size()) != 2 * count * dimensions()) {
    return invalid_argument(fmt::format("{} numbers for the {} boxes of rank {}: give {} each",
                                        numbers.size(), count, rank, 2 * n));
  }
  for (std::int64_t box = 0; box < count; ++box) {
    const auto of_box = numbers.subspan(static_cast<std::size_t>(box) * 2 * n, 2 * n);
    const Box given{Indices(of_box.first(n)), Indices(of_box.last(n))};
    if (const Status inside = check_inside(given, shape_); !inside) {
      return invalid_argument(
          fmt::format("box {} of rank {}: {}", box, rank, inside.error().message));
    }
    for (std::size_t i = 0; i < 2 * n; ++i) {
      corners_.set(2 * (first + box) * dimensions() + static_cast<std::int64_t>(i), of_box[i]);
    }
  }
  return {};
}

void BoxTable::set_region(std::int64_t box, const Section& region) const {
  assert(has_strides_);
  const Box around = region.empty() ? Box{region.start, region.count} : region.bounding_box();
  for (int d = 0; d < dimensions(); ++d) {
    corners_.set(2 * box * dimensions() + d, around.lower[d]);
    corners_.set((2 * box + 1) * dimensions() + d, around.extent[d]);
    // The stride of a single index may be greater than the array, and section() must find the
    // counts of an empty region again: both get the stride 1.
    const bool leads_on = !region.empty() && region.count[d] > 1;
    strides_.set(box * dimensions() + d, leads_on ? region.stride[d] : 1);
  }
}

Status BoxTable::list_boxes() const {
  Fingerprint fingerprint;
  for (std::int64_t rank = 0; rank < ranks_; ++rank) fingerprint.add(first_box(rank));
  Header made;
  for (std::int64_t number = 0; number < boxes_; ++number) {
    const Box box = (*this)[number];
    for (const std::int64_t index : box.lower) fingerprint.add(index);
    for (const std::int64_t extent : box.extent) fingerprint.add(extent);
    for (int d = 0; has_strides_ && d < dimensions(); ++d) {
      const std::int64_t stride = strides_.get(number * dimensions() + d);
      fingerprint.add(stride);
      if (stride > 1) made.strided = 1;
    }
    if (!box.empty()) order_.set(made.listed++, number);
    const auto sum = checked_add(made.elements, section(number).elements());
    if (!sum)
      return invalid_argument(
          "the boxes have more than 2^63 elements in all, so many of them overlap");
    made.elements = *sum;
  }
  made.digest = fingerprint.value();
  *header_ = made;
  return {};
}

std::int64_t BoxTable::rank_of_box(std::int64_t number) const {
  // The result is the last rank whose first box is at or before this box: earlier ranks with the
  // same first box have no boxes.
  const std::int64_t* const after = std::upper_bound(first_box_, first_box_ + ranks_ + 1, number);
  return after - first_box_ - 1;
}

Box BoxTable::operator[](std::int64_t number) const {
  Box box;
  for (int d = 0; d < dimensions(); ++d) {
    box.lower.push_back(lower(number, d));
    box.extent.push_back(extent(number, d));
  }
  return box;
}

Section BoxTable::section(std::int64_t number) const {
  Section section{{}, {}, {}};
  for (int d = 0; d < dimensions(); ++d) {
    const std::int64_t stride = has_strides_ ? strides_.get(number * dimensions() + d) : 1;
    const std::int64_t length = extent(number, d);
    section.start.push_back(lower(number, d));
    section.count.push_back(length > 0 ? (length - 1) / stride + 1 : 0);
    section.stride.push_back(stride);
  }
  return section;
}

bool operator==(const BoxTable& a, const BoxTable& b) {
  if (a.image_ == b.image_) return true;
  if (a.shape_ != b.shape_ || a.ranks_ != b.ranks_ || a.boxes_ != b.boxes_ ||
      a.has_strides_ != b.has_strides_) {
    return false;
  }
  const auto equal = [](std::span<const std::uint64_t> left, std::span<const std::uint64_t> right) {
    return std::memcmp(left.data(), right.data(), left.size_bytes()) == 0;
  };
  return equal(a.count_words(), b.count_words()) && equal(a.box_words(), b.box_words());
}

BoxTable::Node BoxTable::child(const Node& node, int which) {
  const std::int64_t middle = node.begin + (node.end - node.begin) / 2;
  return which == 0 ? Node{2 * node.number + 1, node.begin, middle}
                    : Node{2 * node.number + 2, middle, node.end};
}

std::optional<BoxTable::Node> BoxTable::node_at(int level, std::int64_t number) const {
  Node node = root();
  for (int above = level - 1; above >= 0; --above) {
    if (node.is_leaf()) return std::nullopt;
    node = child(node, static_cast<int>(number >> above) & 1);
  }
  return node;
}

int BoxTable::widest_dimension(const Node& node) const {
  int widest = 0;
  std::int64_t widest_spread = -1;
  for (int d = 0; d < dimensions(); ++d) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t greatest = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t at = node.begin; at < node.end; ++at) {
      const std::int64_t here = middle(order_.get(at), d);
      least = std::min(least, here);
      greatest = std::max(greatest, here);
    }
    if (greatest - least > widest_spread) {
      widest_spread = greatest - least;
      widest = d;
    }
  }
  return widest;
}

void BoxTable::halve(const Node& node) const {
  const int along = widest_dimension(node);
  if (order_.narrow()) {
    halve<std::uint32_t>(node, along);
  } else {
    halve<std::int64_t>(node, along);
  }
}

template <typename Number>
void BoxTable::halve(const Node& node, int along) const {
  auto* const order = reinterpret_cast<Number*>(order_.first());
  std::nth_element(order + node.begin, order + child(node, 0).end, order + node.end,
                   [&](Number a, Number b) {
                     const std::int64_t middle_a = middle(static_cast<std::int64_t>(a), along);
                     const std::int64_t middle_b = middle(static_cast<std::int64_t>(b), along);
                     return middle_a != middle_b ? middle_a < middle_b : a < b;
                   });
}

void BoxTable::split(int level, std::int64_t node) const {
  const auto found = node_at(level, node);
  if (found && !found->is_leaf()) halve(*found);
}

void BoxTable::build_below(int level, std::int64_t node) const {
  if (const auto found = node_at(level, node)) build(*found);
}

void BoxTable::bound_above(int level) const { bound(root(), level); }

// The recursion is as deep as the tree, that is, log2 of the number of boxes.
// NOLINTNEXTLINE(misc-no-recursion)
void BoxTable::build(const Node& node) const {
  if (node.is_leaf()) {
    bound_leaf(node);
    return;
  }
  halve(node);
  build(child(node, 0));
  build(child(node, 1));
  bound_by_children(node);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
void BoxTable::bound(const Node& node, int levels) const {
  if (levels == 0) return;
  if (node.is_leaf()) {
    bound_leaf(node);
    return;
  }
  bound(child(node, 0), levels - 1);
  bound(child(node, 1), levels - 1);
  bound_by_children(node);
}

void BoxTable::bound_leaf(const Node& node) const {
  if (node.begin == node.end) return;  // a tree of no boxes
  for (int d = 0; d < dimensions(); ++d) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t at = node.begin; at < node.end; ++at) {
      const std::int64_t number = order_.get(at);
      least = std::min(least, lower(number, d));
      end = std::max(end, upper(number, d));
    }
    set_bounds(node, d, least, end);
  }
}

void BoxTable::bound_by_children(const Node& node) const {
  const Node left = child(node, 0);
  const Node right = child(node, 1);
  for (int d = 0; d < dimensions(); ++d) {
    set_bounds(node, d, std::min(least(left, d), least(right, d)),
               std::max(end(left, d), end(right, d)));
  }
}

void BoxTable::set_bounds(const Node& node, int dimension, std::int64_t least,
                          std::int64_t end) const {
  const std::int64_t at = 2 * (node.number * dimensions() + dimension);
  bounds_.set(at, least);
  bounds_.set(at + 1, end);
}

bool BoxTable::may_meet(const Node& node, const Box& box) const {
  for (int d = 0; d < box.dimensions(); ++d) {
    if (least(node, d) >= box.upper(d) || box.lower[d] >= end(node, d)) return false;
  }
  return true;
}

std::vector<std::int64_t> BoxTable::meeting(const Box& box) const {
  std::vector<std::int64_t> numbers;
  visit_meeting(box, [&](std::int64_t number) {
    numbers.push_back(number);
    return true;
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::optional<std::int64_t> BoxTable::overlapping(std::int64_t number) const {
  std::optional<std::int64_t> lowest;
  const Section own = section(number);
  visit_meeting((*this)[number], [&](std::int64_t other) {
    if (other == number || (is_strided() && intersect(own, section(other)).empty())) return true;
    lowest = std::min(other, lowest.value_or(other));
    return true;
  });
  return lowest;
}

}  // namespace weir::array

// Finds the boxes of a list that meet a box, without looking at all of them.
//
// A tree of bounding boxes: the boxes are halved at the median of their middles, along the
// dimension in which these are spread most, until a leaf has few. Building takes O(n log n). A
// query opens the nodes whose bounding box meets the one asked for: with disjoint boxes as refined
// meshes have them, O(log n + answers); with long thin boxes that cross each other's bounding
// boxes, more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "array/box.hpp"
#include "array/box_list.hpp"

namespace weir::array {

class BoxIndex {
 public:
  BoxIndex() = default;  // of no boxes
  // Keeps nothing of `boxes`: give the same list to the queries. Empty boxes meet nothing.
  explicit BoxIndex(const BoxList& boxes);

  // Calls visit(number) for each box that meets `box`, in no particular order, until visit returns
  // false. Returns how many nodes of the tree were opened.
  template <typename Visit>
  std::int64_t visit_meeting(const BoxList& boxes, const Box& box, Visit visit) const;

  // The numbers of the boxes that meet `box`, ascending.
  [[nodiscard]] std::vector<std::int64_t> meeting(const BoxList& boxes, const Box& box) const;

  struct Overlap {
    std::int64_t first = 0;
    std::int64_t second = 0;
  };
  // Two boxes that have an element in common: the lowest possible `first`, then the lowest
  // `second`. Not all pairs are looked at: one query per box.
  [[nodiscard]] std::optional<Overlap> find_overlap(const BoxList& boxes) const;

 private:
  static constexpr std::int64_t leaf_boxes = 8;
  static constexpr std::size_t max_waiting = 64;  // the tree is less deep than this

  // The boxes order_[begin, end) and, at bounds_[2 × dimensions × number], what bounds them.
  struct Node {
    std::size_t number = 0;  // children: 2 × number + 1, 2 × number + 2
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  void build(const BoxList& boxes, const Node& node);
  void bound_leaf(const BoxList& boxes, const Node& node);
  [[nodiscard]] static Node child(const Node& node, int which);
  [[nodiscard]] bool may_meet(const Node& node, const Box& box) const;
  [[nodiscard]] std::int64_t lower(std::size_t node, int dimension) const {
    return bounds_[2 * (node * dimensions_ + static_cast<std::size_t>(dimension))];
  }
  [[nodiscard]] std::int64_t upper(std::size_t node, int dimension) const {
    return bounds_[2 * (node * dimensions_ + static_cast<std::size_t>(dimension)) + 1];
  }
  void set_bounds(std::size_t node, int dimension, std::int64_t lower, std::int64_t upper);

  std::size_t dimensions_ = 0;
  std::vector<std::int64_t> order_;   // the numbers of the boxes that are not empty
  std::vector<std::int64_t> bounds_;  // lower and upper per node and dimension
};

template <typename Visit>
std::int64_t BoxIndex::visit_meeting(const BoxList& boxes, const Box& box, Visit visit) const {
  std::int64_t opened = 0;
  if (order_.empty() || box.empty()) return opened;
  std::array<Node, max_waiting> waiting;
  std::size_t count = 0;
  waiting.at(count++) = {0, 0, static_cast<std::int64_t>(order_.size())};
  while (count > 0) {
    const Node node = waiting.at(--count);
    if (!may_meet(node, box)) continue;
    ++opened;
    if (node.end - node.begin > leaf_boxes) {
      waiting.at(count++) = child(node, 1);
      waiting.at(count++) = child(node, 0);
      continue;
    }
    for (std::int64_t at = node.begin; at < node.end; ++at) {
      const std::int64_t number = order_[static_cast<std::size_t>(at)];
      bool meets = true;
      for (int d = 0; d < boxes.dimensions() && meets; ++d) {
        meets = boxes.lower(number, d) < box.upper(d) && box.lower[d] < boxes.upper(number, d);
      }
      if (meets && !visit(number)) return opened;
    }
  }
  return opened;
}

}  // namespace weir::array

// An array held as any boxes on any ranks: adaptive meshes, unequal parts, parts that leave holes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "array/box_index.hpp"
#include "array/box_list.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::array {

class ExplicitDistribution {
 public:
  // `boxes` in the order of ranks, `boxes_per_rank[r]` of them (0 or more) for rank r, as one
  // gather gives them. Fails when the numbers do not add up, on a box that is not inside the array
  // (the error names rank and box), and on boxes of more than 2^63 elements in all. Overlaps are
  // allowed here: check_disjoint() looks for them.
  static Result<ExplicitDistribution> create(const Shape& shape,
                                             std::span<const std::int64_t> boxes_per_rank,
                                             BoxList boxes);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t ranks() const {
    return static_cast<std::int64_t>(first_box_.size()) - 1;
  }
  [[nodiscard]] const BoxList& boxes() const { return boxes_; }
  // The boxes of `rank` are those numbered first_box(rank) to first_box(rank + 1) − 1.
  [[nodiscard]] std::int64_t first_box(std::int64_t rank) const {
    return first_box_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::int64_t rank_of_box(std::int64_t number) const;
  [[nodiscard]] std::int64_t elements(std::int64_t rank) const;

  // The numbers of the boxes that meet `box`, ascending.
  [[nodiscard]] std::vector<std::int64_t> boxes_meeting(const Box& box) const {
    return index_.meeting(boxes_, box);
  }
  // The rank that holds the element at `index`, the lowest when several do; nothing in a hole.
  [[nodiscard]] std::optional<std::int64_t> owner(const Indices& index) const;

  // Fails when two boxes have an element in common: written, its value would depend on chance. The
  // error names both boxes and ranks.
  [[nodiscard]] Status check_disjoint() const;
  // Whether every element of the array is held, provided that the boxes are disjoint.
  [[nodiscard]] bool covers_array() const;

  // Whether each rank has the same boxes in the same order.
  friend bool operator==(const ExplicitDistribution& a, const ExplicitDistribution& b) {
    return a.shape_ == b.shape_ && a.first_box_ == b.first_box_ &&
           a.boxes_.numbers() == b.boxes_.numbers();
  }

 private:
  ExplicitDistribution(const Shape& shape, std::vector<std::int64_t> first_box, BoxList boxes);

  Shape shape_;
  std::vector<std::int64_t> first_box_;  // per rank, and the number of boxes at the end
  BoxList boxes_;
  BoxIndex index_;
};

}  // namespace weir::array

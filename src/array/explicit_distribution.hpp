// An array held as any boxes on any ranks (adaptive meshes, unequal parts, parts that leave holes),
// or as one region of each rank, which may have strides (box_table.hpp). Copies share one table of
// the boxes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/box_list.hpp"
#include "array/box_table.hpp"
#include "array/region.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::array {

class ExplicitDistribution {
 public:
  // `boxes` in the order of ranks, `boxes_per_rank[r]` of them (0 or more) for rank r. The table is
  // made in memory of this process. Fails when the numbers do not add up, on a box that is not
  // inside the array (the error names rank and box), and on boxes of more than 2^63 elements in
  // all. Overlaps are allowed here: check_disjoint() looks for them.
  static Result<ExplicitDistribution> create(const Shape& shape,
                                             std::span<const std::int64_t> boxes_per_rank,
                                             const BoxList& boxes);
  // By a table that is complete.
  explicit ExplicitDistribution(std::shared_ptr<const BoxTable> table) : table_(std::move(table)) {}

  [[nodiscard]] const Shape& shape() const { return table_->shape(); }
  [[nodiscard]] std::int64_t ranks() const { return table_->ranks(); }
  [[nodiscard]] const BoxTable& boxes() const { return *table_; }
  // The boxes of `rank` are those numbered first_box(rank) to first_box(rank + 1) − 1.
  [[nodiscard]] std::int64_t first_box(std::int64_t rank) const { return table_->first_box(rank); }
  [[nodiscard]] std::int64_t rank_of_box(std::int64_t number) const {
    return table_->rank_of_box(number);
  }
  [[nodiscard]] std::int64_t elements(std::int64_t rank) const;
  // What box `number` holds: all of it, or every stride-th index.
  [[nodiscard]] Region piece(std::int64_t number) const {
    return table_->is_strided() ? Region(table_->section(number)) : Region((*table_)[number]);
  }

  // The numbers of the boxes that meet `box`, ascending.
  [[nodiscard]] std::vector<std::int64_t> boxes_meeting(const Box& box) const {
    return table_->meeting(box);
  }
  // The rank that holds the element at `index`, the lowest when several do; nothing in a hole.
  [[nodiscard]] std::optional<std::int64_t> owner(const Indices& index) const;

  // Fails when a box of `rank` and another box have an element in common: written, its value would
  // depend on chance. The error names both boxes and ranks. When every rank looks at its own boxes,
  // every pair is looked at, and the error of the lowest rank is that of check_disjoint().
  [[nodiscard]] Status check_disjoint(std::int64_t rank) const;
  // Looks at all ranks.
  [[nodiscard]] Status check_disjoint() const;
  // Whether every element of the array is held, provided that the boxes are disjoint.
  [[nodiscard]] bool covers_array() const { return table_->elements() == shape().elements(); }

  // Whether each rank has the same boxes in the same order.
  friend bool operator==(const ExplicitDistribution& a, const ExplicitDistribution& b) {
    return *a.table_ == *b.table_;
  }

 private:
  std::shared_ptr<const BoxTable> table_;
};

}  // namespace weir::array

// A distribution of an array as arbitrary boxes on arbitrary ranks (adaptive meshes, unequal parts,
// parts that leave holes), or as one region per rank, which may have strides (box_table.hpp).
// Copies of a distribution share one table of the boxes.
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
  // `boxes` contains `boxes_per_rank[r]` boxes (0 or more) for each rank r, in the order of ranks.
  // The table is made in the memory of this process. Fails if the numbers do not add up, if a box
  // is not inside the array (the error names its rank and its number), and if the boxes have more
  // than 2^63 elements in total. Boxes may overlap here; check_disjoint() finds overlaps.
  static Result<ExplicitDistribution> create(const Shape& shape,
                                             std::span<const std::int64_t> boxes_per_rank,
                                             const BoxList& boxes);
  // Uses a table that is complete.
  explicit ExplicitDistribution(std::shared_ptr<const BoxTable> table) : table_(std::move(table)) {}

  [[nodiscard]] const Shape& shape() const { return table_->shape(); }
  [[nodiscard]] std::int64_t ranks() const { return table_->ranks(); }
  [[nodiscard]] const BoxTable& boxes() const { return *table_; }
  // `rank` has the boxes numbered first_box(rank) to first_box(rank + 1) − 1.
  [[nodiscard]] std::int64_t first_box(std::int64_t rank) const { return table_->first_box(rank); }
  [[nodiscard]] std::int64_t rank_of_box(std::int64_t number) const {
    return table_->rank_of_box(number);
  }
  [[nodiscard]] std::int64_t elements(std::int64_t rank) const;
  // Returns the elements of box `number`: all of them, or every stride-th index.
  [[nodiscard]] Region piece(std::int64_t number) const {
    return table_->is_strided() ? Region(table_->section(number)) : Region((*table_)[number]);
  }

  // Returns the numbers of the boxes that meet `box`, in ascending order.
  [[nodiscard]] std::vector<std::int64_t> boxes_meeting(const Box& box) const {
    return table_->meeting(box);
  }
  // Returns the lowest rank that holds the element at `index`, or nothing if no rank holds it.
  [[nodiscard]] std::optional<std::int64_t> owner(const Indices& index) const;

  // Fails if a box of `rank` and another box have an element in common, because the value written
  // there would depend on timing. The error names both boxes and ranks. If every rank checks its
  // own boxes, every pair is checked, and the error of the lowest rank equals that of
  // check_disjoint().
  [[nodiscard]] Status check_disjoint(std::int64_t rank) const;
  // Checks the boxes of all ranks.
  [[nodiscard]] Status check_disjoint() const;

  // Returns whether each rank has the same boxes in the same order.
  friend bool operator==(const ExplicitDistribution& a, const ExplicitDistribution& b) {
    return *a.table_ == *b.table_;
  }

 private:
  std::shared_ptr<const BoxTable> table_;
};

}  // namespace weir::array

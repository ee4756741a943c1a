// A distribution of an array to a grid of ranks with one format per dimension, like HPF's
// DISTRIBUTE, MPI's darray and ScaLAPACK's block-cyclic matrices. Every query is in closed form per
// dimension.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "array/distribution_format.hpp"
#include "array/linear_range.hpp"
#include "array/odometer.hpp"
#include "array/per_dimension.hpp"
#include "array/process_grid.hpp"
#include "array/region.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::array {

class RegularDistribution {
 public:
  // Takes one format and one grid extent per dimension of `shape`. Fails if their numbers differ
  // from the number of dimensions, on more than 2^31 − 1 ranks, and if DistributedDimension::create
  // fails; the error then names the dimension.
  static Result<RegularDistribution> create(const Shape& shape,
                                            std::span<const DistributionFormat> formats,
                                            const ProcessGrid& grid);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const ProcessGrid& grid() const { return grid_; }
  [[nodiscard]] std::int64_t ranks() const { return grid_.ranks(); }
  [[nodiscard]] const DistributedDimension& along(int dimension) const { return along_[dimension]; }

  // Returns the elements that `rank` holds: none if `rank` is beyond the grid.
  [[nodiscard]] Region part(std::int64_t rank) const;
  [[nodiscard]] std::int64_t elements(std::int64_t rank) const { return part(rank).elements(); }
  // Returns the rank that holds the element at `index`, which lies inside the array.
  [[nodiscard]] std::int64_t owner(const Indices& index) const;
  // Returns a description such as "BLOCK, CYCLIC(32) over 4 x 2, row-major".
  [[nodiscard]] std::string text() const;

  // Returns whether each rank holds the same elements, however the formats were written.
  friend bool operator==(const RegularDistribution& a, const RegularDistribution& b) {
    return a.shape_ == b.shape_ && a.grid_ == b.grid_ && a.along_ == b.along_;
  }

 private:
  RegularDistribution(const Shape& shape, const ProcessGrid& grid) : shape_(shape), grid_(grid) {}

  Shape shape_;
  ProcessGrid grid_;
  PerDimension<DistributionFormat> formats_;
  PerDimension<DistributedDimension> along_;
};

// Iterates over the ranks that hold an element of a region, in ascending order, with how many
// elements each holds. Along each dimension it is counted once how many indices each process has;
// which ranks there are, and how much they hold, are products of these counts. Nothing is done for
// ranks that hold nothing.
class RanksMeeting {
 public:
  struct Share {
    std::int64_t rank = 0;
    std::int64_t elements = 0;

    friend bool operator==(const Share&, const Share&) = default;
  };

  // Iterates over all ranks, or over those with first <= rank < last. `distribution` must outlive
  // the object.
  RanksMeeting(const RegularDistribution& distribution, const Region& region);
  RanksMeeting(const RegularDistribution& distribution, const Region& region, std::int64_t first,
               std::int64_t last);

  // Returns false when no rank is left.
  bool next(Share& share);
  // Returns along how many processes of single dimensions elements have been counted.
  [[nodiscard]] std::int64_t looked_at() const { return looked_at_; }

 private:
  bool next_box();
  void multiply_from(int depth);

  const RegularDistribution& distribution_;
  Region region_;
  RangeBoxes boxes_;  // of the grid's coordinates: those of the ranks in question
  // The counts of the current box, along the dimension at each depth of the grid's order.
  std::vector<DistributedDimension::Share> counts_;
  PerDimension<std::size_t> first_count_;
  Odometer<> choice_;
  PerDimension<Share> products_;  // of the chosen counts, down to each depth
  std::int64_t looked_at_ = 0;
};

}  // namespace weir::array

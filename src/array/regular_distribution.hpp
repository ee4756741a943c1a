// An array distributed to a grid of ranks, each dimension by its own format: HPF's DISTRIBUTE,
// MPI's darray and ScaLAPACK's block-cyclic matrices. Every answer is in closed form per dimension.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "array/distribution_format.hpp"
#include "array/odometer.hpp"
#include "array/per_dimension.hpp"
#include "array/process_grid.hpp"
#include "array/region.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::array {

class RegularDistribution {
 public:
  // One format and one grid extent per dimension of `shape`. Fails on other numbers of them, on
  // more than 2^31 − 1 ranks, and where DistributedDimension::create fails; the error names the
  // dimension.
  static Result<RegularDistribution> create(const Shape& shape,
                                            std::span<const DistributionFormat> formats,
                                            const ProcessGrid& grid);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const ProcessGrid& grid() const { return grid_; }
  [[nodiscard]] std::int64_t ranks() const { return grid_.ranks(); }
  [[nodiscard]] const DistributedDimension& along(int dimension) const { return along_[dimension]; }

  // What `rank` holds; nothing for ranks beyond the grid.
  [[nodiscard]] Region part(std::int64_t rank) const;
  [[nodiscard]] std::int64_t elements(std::int64_t rank) const { return part(rank).elements(); }
  // The rank that holds the element at `index`, which lies inside the array.
  [[nodiscard]] std::int64_t owner(const Indices& index) const;
  // "BLOCK, CYCLIC(32) over 4 x 2, row-major"
  [[nodiscard]] std::string text() const;

  // Whether each rank holds the same, however the formats were spelled.
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

// The ranks that hold an element of a region, each once, in no particular order.
class RanksMeeting {
 public:
  RanksMeeting(const RegularDistribution& distribution, const Region& region);

  [[nodiscard]] std::int64_t count() const;
  // False when there is none left.
  bool next(std::int64_t& rank);

 private:
  ProcessGrid grid_;
  PerDimension<std::vector<std::int64_t>> coordinates_;
  Odometer<> choice_;
};

}  // namespace weir::array

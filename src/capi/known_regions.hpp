// The regions of all ranks that were gathered lately, so that those that come again are not
// gathered again: an application writes the same regions in each of its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "aggregation/collective.hpp"
#include "array/section.hpp"
#include "array/shape.hpp"

namespace weir::capi {

class KnownRegions {
 public:
  struct Known {
    std::int64_t number = 0;  // the same on all ranks
    array::Shape shape;
    array::Section own;
    std::shared_ptr<aggregation::RankRegions> all;
  };
  // The latest of this shape in which this rank had this region; null: none.
  [[nodiscard]] std::shared_ptr<const Known> find(const array::Shape& shape,
                                                  const array::Section& own) const;
  // Called by all ranks in the same order.
  void add(const array::Shape& shape, const array::Section& own,
           std::shared_ptr<aggregation::RankRegions> all);

 private:
  // Each takes some 50 bytes for every rank of the session in 3-D, and 72 more where regions have
  // strides.
  static constexpr std::size_t most = 4;

  std::deque<std::shared_ptr<const Known>> known_;
  std::int64_t added_ = 0;
};

}  // namespace weir::capi

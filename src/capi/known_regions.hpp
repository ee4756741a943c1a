// The regions of all ranks that were gathered lately, so that those that come again are not
// gathered again: an application writes the same regions in each of its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "array/section.hpp"
#include "array/shape.hpp"
#include "plan/request.hpp"

namespace weir::capi {

class KnownRegions {
 public:
  struct Known {
    std::int64_t number = 0;  // the same on all ranks
    array::Shape shape;
    array::Section own;
    plan::SharedDistribution all;
  };
  // The latest of this shape in which this rank had this region; null: none.
  [[nodiscard]] std::shared_ptr<const Known> find(const array::Shape& shape,
                                                  const array::Section& own) const;
  // Called by all ranks in the same order. Returns the regions that are known no longer.
  std::optional<plan::SharedDistribution> add(const array::Shape& shape, const array::Section& own,
                                              const plan::SharedDistribution& all);

 private:
  // Each takes some 60 bytes for every rank of the session in 3-D, once on each node.
  static constexpr std::size_t most = 16;

  std::deque<std::shared_ptr<const Known>> known_;
  std::int64_t added_ = 0;
};

}  // namespace weir::capi

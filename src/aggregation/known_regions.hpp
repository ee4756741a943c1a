// Keeps sets of all ranks' regions that were gathered recently, so that a set that is used again
// need not be gathered again. An application typically writes the same regions in each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "array/section.hpp"
#include "array/shape.hpp"
#include "plan/request.hpp"

namespace weir::aggregation {

class KnownRegions {
 public:
  struct Known {
    std::int64_t number = 0;  // the same on all ranks
    array::Shape shape;
    array::Section own;
    plan::SharedDistribution all;
  };
  // Returns the latest set for this shape in which this rank had this region; null if there is
  // none.
  [[nodiscard]] std::shared_ptr<const Known> find(const array::Shape& shape,
                                                  const array::Section& own) const;
  // Adds a set. All ranks call this in the same order. Returns the set that was dropped to make
  // room, if any.
  std::optional<plan::SharedDistribution> add(const array::Shape& shape, const array::Section& own,
                                              const plan::SharedDistribution& all);

 private:
  // Number of sets kept. In 3-D each takes about 60 bytes for every rank of the session, once on
  // each node.
  static constexpr std::size_t most_sets = 16;

  std::deque<std::shared_ptr<const Known>> known_;
  std::int64_t added_ = 0;
};

}  // namespace weir::aggregation

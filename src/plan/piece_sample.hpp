// A sample of an aggregator's pieces, evenly spread over them, because a plan may have millions.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace weir::plan {

struct SampledPiece {
  PieceId id;
  double times = 1;  // how many of the aggregator's pieces it stands for
};

// Returns the number of units of an array that an aggregator has; these are the units of its first
// steps.
[[nodiscard]] std::int64_t units_of(const Plan& plan, std::int64_t aggregator, int array);

// Returns at most `most` pieces of an aggregator, all of them if it has no more. Some may have no
// slabs. The aggregator has no piece if the result is empty.
[[nodiscard]] std::vector<SampledPiece> piece_sample(const Plan& plan, std::int64_t aggregator,
                                                     std::int64_t most);

}  // namespace weir::plan

// From the description of a rank's memory to one layout per piece of its part.
#pragma once

#include <deque>
#include <vector>

#include "aggregation/collective.hpp"
#include "array/distribution.hpp"
#include "array/element_type.hpp"
#include "array/layout.hpp"
#include "capi/outcome.hpp"
#include "weir/weir.h"

namespace weir::capi {

// `pieces` gets one more entry per piece of `rank`; none for ranks beyond the distribution. Their
// layouts are put into `layouts`.
[[nodiscard]] Outcome read_memory(const weir_transfer& transfer, bool is_read_into,
                                  const array::Distribution& distribution, int rank,
                                  const array::ElementType& type,
                                  std::deque<array::Layout>& layouts,
                                  std::vector<aggregation::MemoryPiece>& pieces);

}  // namespace weir::capi

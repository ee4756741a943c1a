// From the description of a rank's memory to one layout per piece of its part.
#pragma once

#include <vector>

#include "aggregation/collective.hpp"
#include "array/distribution.hpp"
#include "array/element_type.hpp"
#include "capi/outcome.hpp"
#include "weir/weir.h"

namespace weir::capi {

// `pieces` gets one entry per piece of `rank`; none for ranks beyond the distribution.
[[nodiscard]] Outcome read_memory(const weir_transfer& transfer, bool is_read_into,
                                  const array::Distribution& distribution, int rank,
                                  const array::ElementType& type,
                                  std::vector<aggregation::MemoryPiece>& pieces);

}  // namespace weir::capi

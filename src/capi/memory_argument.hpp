// Converts the description of a rank's memory into one layout per piece of its part.
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

// Appends one entry to `pieces` for each piece of `rank`, and the layouts of the pieces to
// `layouts`. Appends nothing for ranks beyond the distribution.
[[nodiscard]] Outcome read_memory(const weir_transfer& transfer, bool is_read_into,
                                  const array::Distribution& distribution, int rank,
                                  const array::ElementType& type,
                                  std::deque<array::Layout>& layouts,
                                  std::vector<aggregation::MemoryPiece>& pieces);

}  // namespace weir::capi

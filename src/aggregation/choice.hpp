// Which strategy a request takes when its settings leave that open.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregation/move.hpp"

namespace weir::aggregation {

// The bytes that lie together in the file of what one rank holds: those of the rank that holds the
// section's first element, as an example. The same on every rank; 0 where nobody holds it.
[[nodiscard]] std::int64_t example_run_bytes(const RequestedPart& part);

// Direct where every array's rows are long, otherwise through aggregators.
[[nodiscard]] Strategy choose_strategy(const std::vector<RequestedPart>& parts, int nodes);

}  // namespace weir::aggregation

// All ranks' boxes as a distribution whose table lies once on each node, in memory that the node's
// ranks share.
//
// 1. The ranks add up how many boxes there are, so all know how large the table is.
// 2. The ranks of each node share so much memory, and make the table there together, as
//    array/box_table.hpp says: each writes its count and its boxes, and all build the tree.
// 3. In between, one rank of each node gets what the ranks of other nodes wrote: parts of the table
//    are combined by a bitwise OR over all nodes, in messages of bounded size.
// A round of agreement ends each stage, so the next stage finds all of it, and an error of any rank
// is the error of all.
#pragma once

#include <cstdint>
#include <span>

#include "aggregation/collective_state.hpp"
#include "array/explicit_distribution.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::aggregation {

// Collective. `mine`: this rank's boxes, 2 × dimensions numbers each: the lower corner, then the
// extents. `shape` is alike on all ranks. Fails, alike on all ranks, on a box that is not inside
// the array, and where a node has too little memory.
[[nodiscard]] Result<array::ExplicitDistribution> share_boxes(CollectiveState& state,
                                                              const array::Shape& shape,
                                                              std::span<const std::int64_t> mine);

}  // namespace weir::aggregation

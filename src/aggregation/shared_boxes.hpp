// Creates a distribution from all ranks' boxes. Its table is stored once per node, in memory that
// the node's ranks share.
//
// 1. The ranks add up the numbers of their boxes, so that all know the size of the table.
// 2. The ranks of each node share memory of this size, and build the table there together, as
//    described in array/box_table.hpp: each rank writes its count and its boxes, and all build the
//    tree.
// 3. In between, one rank of each node gets the data that ranks of other nodes wrote: parts of the
//    table are combined by a bitwise OR over all nodes, in messages of bounded size.
//
// A round of agreement ends each stage, so the next stage finds complete data, and an error of any
// rank is the error of all.
#pragma once

#include <cstdint>
#include <span>

#include "aggregation/collective_state.hpp"
#include "array/explicit_distribution.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::aggregation {

// Collective. `mine`: this rank's boxes, 2 × dimensions numbers for each: the lower corner, then
// the extents. `shape` is equal on all ranks. Fails on all ranks if a box is not inside the array,
// or if a node has too little memory.
[[nodiscard]] Result<array::ExplicitDistribution> share_boxes(CollectiveState& state,
                                                              const array::Shape& shape,
                                                              std::span<const std::int64_t> mine);

}  // namespace weir::aggregation

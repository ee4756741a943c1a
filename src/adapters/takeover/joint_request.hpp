// Moves the patterns of all ranks in a collective call together: by number of the pattern, those of
// all ranks are boxes of one array of bytes (array/byte_grid.hpp), and all these arrays are one
// request, with one plan and one pair of votes. A step of many variables of PnetCDF is such a call.
#pragma once

#include <cstddef>
#include <span>

#include "aggregation/byte_file.hpp"
#include "aggregation/collective.hpp"
#include "array/byte_grid.hpp"
#include "common/direction.hpp"
#include "common/status.hpp"

namespace weir::takeover {

// Collective. Each grid has a box for each rank, which may be empty. The bytes of this rank's boxes
// follow each other in memory, from `memory` on. Arrays that have places of the file in common,
// such as those of variables with records, are moved one after the other. Fails on all ranks alike.
[[nodiscard]] Status move_grids(aggregation::Collective& session, aggregation::ByteFile& file,
                                Direction direction, int rank,
                                std::span<const array::ByteGrid> grids, std::byte* memory);

}  // namespace weir::takeover

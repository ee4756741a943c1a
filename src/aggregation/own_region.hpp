// Lets one rank move a region of an array by itself.
#pragma once

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "plan/request.hpp"

namespace weir::aggregation {

// Writes or reads a region of what requests on the array currently move, without the other ranks.
// It uses the system's page cache and files that this rank opens for itself. A write fails if it
// needs the other ranks: for encoded chunks, and for files with checksums. If the caches of the
// session's nodes are not coherent, everything fails except reads from files that are open for
// reading only.
[[nodiscard]] Status move_alone(OpenArray& file, Direction direction, const array::Section& region,
                                const MemoryPiece& memory);

}  // namespace weir::aggregation

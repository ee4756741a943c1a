// How one rank moves a region of an array by itself.
#pragma once

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "plan/request.hpp"

namespace weir::aggregation {

// Writes or reads a region of what requests on the array move at the moment, without the other
// ranks: through the system's page cache, by files that this rank opens for itself. Writing is
// refused where it needs the other ranks: encoded chunks, and files with checksums. So is all but
// reading from files that nobody writes where the caches of the session's nodes are not coherent.
[[nodiscard]] Status move_alone(OpenArray& file, Direction direction, const array::Section& region,
                                const MemoryPiece& memory);

}  // namespace weir::aggregation

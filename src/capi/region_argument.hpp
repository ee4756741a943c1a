// Converts a rank's own region into the arguments of the collective layer.
#pragma once

#include "array/section.hpp"
#include "capi/outcome.hpp"
#include "capi/transfer_argument.hpp"
#include "plan/request.hpp"
#include "weir/weir.h"

namespace weir::capi {

// Sets `region` to the requested section and `content` to one piece of memory with the same
// extents. If `given` is null, this rank requests nothing.
[[nodiscard]] Outcome read_region(const weir_array& array, const weir_region* given,
                                  Direction direction, Content& content, array::Section& region);

}  // namespace weir::capi

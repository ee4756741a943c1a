// From a rank's own region to what the collective layer takes.
#pragma once

#include "array/section.hpp"
#include "capi/outcome.hpp"
#include "capi/transfer_argument.hpp"
#include "plan/request.hpp"
#include "weir/weir.h"

namespace weir::capi {

// `region` gets what is asked for, `content` one piece of memory of the same extents. Null: nothing
// is asked for by this rank.
[[nodiscard]] Outcome read_region(const weir_array& array, const weir_region* given,
                                  Direction direction, Content& content, array::Section& region);

}  // namespace weir::capi

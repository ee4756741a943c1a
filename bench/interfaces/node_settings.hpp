// The setting `io-groups` of all workloads that have it.
#pragma once

#include "common/settings.hpp"

namespace weir::bench {

inline constexpr const char* io_groups_help =
    "weir: I/O groups, between which no data moves: N consecutive nodes each, or the group of "
    "every "
    "node, such as 0,0,1,1 or 0*2,1*2 [one group]";

// Returns the rest of the declaration. Whether a list fits the nodes is known only when the library
// knows them.
[[nodiscard]] Setting io_groups_setting();

}  // namespace weir::bench

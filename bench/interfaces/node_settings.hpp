// The settings `ranks-per-node` and `io-groups` of all workloads that measure Weir by nodes.
#pragma once

#include "common/settings.hpp"

namespace weir::bench {

inline constexpr const char* io_groups_help =
    "weir: I/O groups, between which no data moves: N consecutive nodes each, or the group of "
    "every node, such as 0,0,1,1 or 0*2,1*2, or who tells of them: slurm, lnet, cray, discover, "
    "description:FILE, infiniband:FILE, discover:FILE [one group]";

inline constexpr const char* ranks_per_node_help =
    "weir: N consecutive ranks count as a node, to measure on one machine what several nodes do "
    "[the ranks that share memory]";

// Return the rest of the declarations. Whether a list fits the nodes is known only when the library
// knows them.
[[nodiscard]] Setting io_groups_setting();
[[nodiscard]] Setting ranks_per_node_setting();

}  // namespace weir::bench

// Compares the descriptions of a job's nodes. One process of each node takes part. Texts travel
// along a tree of as many steps as the number of nodes has binary digits; each message is bounded
// as node_kinds.hpp says, and of nodes that are alike it has only the number.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>

namespace weir::bench {

// `mine` is this node's description (describe_node()), and `nodes` has one process of each node in
// their order. Collective over `nodes`. Returns, on its rank 0, a `DescribedNodes` of run.json
// (python/weir/results/schema.py), in which all nodes are compared with that of rank 0; null on
// the other ranks.
[[nodiscard]] nlohmann::json compare_nodes(MPI_Comm nodes, const nlohmann::json& mine);

}  // namespace weir::bench

// Describes the nodes of a job: that of rank 0, and in what the others differ from it.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weir::bench {

// Returns, on rank 0 of `nodes`, the result of describe_node() there, with that of compare_nodes()
// as `nodes`; null on the other ranks. Collective over `nodes`, which has one process of each node.
[[nodiscard]] nlohmann::json describe_nodes(MPI_Comm nodes, const std::string& directory);

}  // namespace weir::bench

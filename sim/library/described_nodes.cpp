// All simulated nodes are this machine, which is described once.
#include "measurement/described_nodes.hpp"

#include <nlohmann/json.hpp>

#include "measurement/environment.hpp"

namespace weir::bench {

nlohmann::json describe_nodes(MPI_Comm nodes, const std::string& directory) {
  int rank = 0;
  MPI_Comm_rank(nodes, &rank);
  if (rank != 0) return nullptr;
  nlohmann::json node = describe_node(directory);
  node["nodes"] = nullptr;
  return node;
}

}  // namespace weir::bench

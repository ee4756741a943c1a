// Simulated ranks have sim/library/described_nodes.cpp instead.
#include "measurement/described_nodes.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "measurement/environment.hpp"
#include "measurement/node_comparison.hpp"

namespace weir::bench {

nlohmann::json describe_nodes(MPI_Comm nodes, const std::string& directory) {
  nlohmann::json node = describe_node(directory);
  nlohmann::json compared = compare_nodes(nodes, node);
  if (compared.is_null()) return nullptr;
  node["nodes"] = std::move(compared);
  return node;
}

}  // namespace weir::bench

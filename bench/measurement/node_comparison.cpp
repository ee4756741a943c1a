#include "measurement/node_comparison.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "measurement/node_kinds.hpp"
#include "measurement/system_text.hpp"

namespace weir::bench {
namespace {

using nlohmann::json;

constexpr int kinds_tag = 1;

std::string receive_text(MPI_Comm nodes, int source) {
  MPI_Status status;
  MPI_Probe(source, kinds_tag, nodes, &status);
  int length = 0;
  MPI_Get_count(&status, MPI_CHAR, &length);
  std::string text(static_cast<std::size_t>(length), '\0');
  MPI_Recv(text.data(), length, MPI_CHAR, source, kinds_tag, nodes, MPI_STATUS_IGNORE);
  return text;
}

}  // namespace

json compare_nodes(MPI_Comm nodes, const json& mine) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(nodes, &rank);
  MPI_Comm_size(nodes, &size);
  const std::string own = json_text(mine);
  std::string first = own;
  auto length = static_cast<std::int64_t>(first.size());
  MPI_Bcast(&length, 1, MPI_INT64_T, 0, nodes);
  first.resize(static_cast<std::size_t>(length));
  MPI_Bcast(first.data(), static_cast<int>(length), MPI_CHAR, 0, nodes);

  NodeKinds kinds = NodeKinds::of_node(rank, node_difference(json::parse(first), json::parse(own)));
  // A binomial tree. A rank has the nodes up to its next parent's, so that places stay in order.
  for (std::int64_t step = 1; step < size; step *= 2) {
    if ((rank & step) != 0) {
      const std::string text = json_text(kinds.record());
      MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, static_cast<int>(rank - step),
               kinds_tag, nodes);
      return nullptr;
    }
    if (rank + step >= size) continue;
    const std::string text = receive_text(nodes, static_cast<int>(rank + step));
    kinds.add(NodeKinds::from_record(json::parse(text)));
  }
  return kinds.record();
}

}  // namespace weir::bench

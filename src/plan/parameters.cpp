#include "plan/parameters.hpp"

#include <fmt/format.h>

namespace weir::plan {

std::string_view name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::direct:
      return "direct";
    case Strategy::node_aggregation:
      return "node";
    case Strategy::two_phase:
      return "two-phase";
    case Strategy::server_directed:
      return "server-directed";
  }
  return "";
}

Result<Strategy> parse_strategy(std::string_view name) {
  for (const Strategy strategy : all_strategies) {
    if (name == name_of(strategy)) return strategy;
  }
  return invalid_argument(fmt::format(
      "unknown strategy '{}': give one of direct, node, two-phase, server-directed", name));
}

}  // namespace weir::plan

#include "topology/aggregator_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::topology {

namespace {

std::int64_t divide_up(std::int64_t number, std::int64_t divisor) {
  return (number + divisor - 1) / divisor;
}

}  // namespace

AggregatorPlacement::AggregatorPlacement(const Topology& topology, GatherWithin within,
                                         std::int64_t per_group, const AggregatorLimits& limits)
    : topology_(topology), within_(within), per_group_(per_group), limits_(limits) {
  const std::int64_t most = limits.per_node > 0 ? limits.per_node : topology.ranks();
  if (within == GatherWithin::node || topology.fewest_ranks_on_a_node() >= most ||
      topology.fewest_ranks_on_a_node() * topology.nodes() == topology.ranks()) {
    return;
  }
  std::vector<std::int64_t> before(static_cast<std::size_t>(topology.nodes()));
  for (std::int64_t group = 0; group < groups(); ++group) {
    std::int64_t sum = 0;
    for (std::int64_t position = 0; position < nodes_of(group); ++position) {
      const std::int64_t node = node_at(group, position);
      before[static_cast<std::size_t>(node)] = sum;
      sum += holders_on(node);
    }
  }
  holders_before_ = std::make_shared<const std::vector<std::int64_t>>(std::move(before));
}

Result<AggregatorPlacement> AggregatorPlacement::create(const Topology& topology,
                                                        GatherWithin within,
                                                        std::int64_t aggregators_per_group,
                                                        const AggregatorLimits& limits) {
  if (aggregators_per_group < 1 || limits.per_node < 0 || limits.targets < 1) {
    return invalid_argument(
        fmt::format("{} aggregators, at most {} per node, are given for {} targets: give at least "
                    "1, and 0 per node for all its ranks",
                    aggregators_per_group, limits.per_node, limits.targets));
  }
  return AggregatorPlacement(topology, within, aggregators_per_group, limits);
}

std::int64_t AggregatorPlacement::groups() const {
  return within_ == GatherWithin::node ? topology_.nodes() : topology_.io_groups();
}

std::int64_t AggregatorPlacement::group_of_rank(std::int64_t rank) const {
  if (groups() == 1) return 0;
  const std::int64_t node = topology_.node_of(rank);
  return within_ == GatherWithin::node ? node : topology_.io_group_of_node(node);
}

std::int64_t AggregatorPlacement::nodes_of(std::int64_t group) const {
  return within_ == GatherWithin::node ? 1 : topology_.nodes_in_group(group);
}

std::int64_t AggregatorPlacement::node_at(std::int64_t group, std::int64_t position) const {
  return within_ == GatherWithin::node ? group : topology_.node_in_group(group, position);
}

std::int64_t AggregatorPlacement::ranks_in(std::int64_t group) const {
  if (groups() == 1) return topology_.ranks();
  std::int64_t sum = 0;
  for (std::int64_t n = 0; n < nodes_of(group); ++n) sum += topology_.ranks_on(node_at(group, n));
  return sum;
}

std::int64_t AggregatorPlacement::rank_in(std::int64_t group, std::int64_t position) const {
  if (groups() == 1) return position;
  for (std::int64_t n = 0;; ++n) {
    const std::int64_t node = node_at(group, n);
    const std::int64_t here = topology_.ranks_on(node);
    if (position < here) return topology_.rank_on(node, position);
    position -= here;
  }
}

std::int64_t AggregatorPlacement::position_of(std::int64_t node) const {
  return within_ == GatherWithin::node ? 0 : topology_.position_in_group(node);
}

std::int64_t AggregatorPlacement::holders_on(std::int64_t node) const {
  const std::int64_t ranks = topology_.ranks_on(node);
  return limits_.per_node > 0 ? std::min(limits_.per_node, ranks) : ranks;
}

std::int64_t AggregatorPlacement::holders_before(std::int64_t group, std::int64_t position) const {
  if (position == 0) return 0;
  const std::int64_t node = node_at(group, position - 1);
  if (holders_before_ == nullptr) return position * holders_on(node);
  return (*holders_before_)[static_cast<std::size_t>(node)] + holders_on(node);
}

AggregatorPlacement::Sharing AggregatorPlacement::sharing_in(std::int64_t group) const {
  Sharing sharing;
  sharing.nodes = nodes_of(group);
  const std::int64_t holders = holders_before(group, sharing.nodes);
  sharing.aggregators = std::min(per_group_, holders);
  const std::int64_t fewest =
      holders_before_ == nullptr ? holders / sharing.nodes : topology_.fewest_ranks_on_a_node();
  for (const std::int64_t nodes :
       {nodes_for_targets(sharing.nodes, limits_.targets), sharing.nodes}) {
    sharing.shares = nodes;
    if (divide_up(sharing.aggregators, nodes) <= fewest) return sharing;
  }
  sharing.shares = holders;
  sharing.by_holders = true;
  return sharing;
}

std::int64_t AggregatorPlacement::aggregators_in(std::int64_t group) const {
  return sharing_in(group).aggregators;
}

std::int64_t AggregatorPlacement::nodes_used(std::int64_t group) const {
  const Sharing sharing = sharing_in(group);
  return std::min(sharing.aggregators, sharing.by_holders ? sharing.nodes : sharing.shares);
}

// The aggregator at place p has share ⌊p × shares / aggregators⌋. Where a share is a node, share s
// is the node at position ⌊s × nodes / shares⌋.
std::int64_t AggregatorPlacement::first_place(std::int64_t group, const Sharing& sharing,
                                              std::int64_t position) const {
  const std::int64_t share = sharing.by_holders
                                 ? holders_before(group, position)
                                 : divide_up(position * sharing.shares, sharing.nodes);
  return divide_up(share * sharing.aggregators, sharing.shares);
}

std::int64_t AggregatorPlacement::position_with(std::int64_t group, const Sharing& sharing,
                                                std::int64_t place) const {
  const std::int64_t share = place * sharing.shares / sharing.aggregators;
  if (!sharing.by_holders) return share * sharing.nodes / sharing.shares;
  // Finds the last node that has at most `share` holders before it.
  std::int64_t first = 0;
  std::int64_t end = sharing.nodes;
  while (end - first > 1) {
    const std::int64_t middle = first + (end - first) / 2;
    (holders_before(group, middle) <= share ? first : end) = middle;
  }
  return first;
}

std::int64_t AggregatorPlacement::place_of(std::int64_t group, std::int64_t number) const {
  const std::int64_t aggregators = aggregators_in(group);
  if (aggregators % limits_.targets != 0) return number;
  return number % limits_.targets * (aggregators / limits_.targets) + number / limits_.targets;
}

std::int64_t AggregatorPlacement::rank_of(std::int64_t group, std::int64_t number) const {
  const Sharing sharing = sharing_in(group);
  const std::int64_t place = place_of(group, number);
  const std::int64_t position = position_with(group, sharing, place);
  const std::int64_t first = first_place(group, sharing, position);
  const std::int64_t on_node = first_place(group, sharing, position + 1) - first;
  const std::int64_t node = node_at(group, position);
  const std::int64_t holders = holders_on(node);
  const std::int64_t holder = (place - first) * holders / on_node;
  return topology_.rank_on(node, holder * topology_.ranks_on(node) / holders);
}

std::int64_t AggregatorPlacement::aggregator_at(std::int64_t rank) const {
  const std::int64_t group = group_of_rank(rank);
  const Sharing sharing = sharing_in(group);
  const std::int64_t node = topology_.node_of(rank);
  const std::int64_t position = position_of(node);
  const std::int64_t first = first_place(group, sharing, position);
  const std::int64_t on_node = first_place(group, sharing, position + 1) - first;
  if (on_node == 0) return -1;
  const std::int64_t ranks = topology_.ranks_on(node);
  const std::int64_t holders = holders_on(node);
  const std::int64_t rank_place = topology_.position_on_node(rank);
  const std::int64_t holder = divide_up(rank_place * holders, ranks);
  if (holder >= holders || holder * ranks / holders != rank_place) return -1;
  const std::int64_t among = divide_up(holder * on_node, holders);
  if (among >= on_node || among * holders / on_node != holder) return -1;
  const std::int64_t place = first + among;
  if (sharing.aggregators % limits_.targets != 0) return place;
  const std::int64_t of_one_target = sharing.aggregators / limits_.targets;
  return place % of_one_target * limits_.targets + place / of_one_target;
}

std::int64_t AggregatorPlacement::first_place_for(std::int64_t rank) const {
  const std::int64_t group = group_of_rank(rank);
  const Sharing sharing = sharing_in(group);
  const std::int64_t node = topology_.node_of(rank);
  const std::int64_t position = position_of(node);
  // The first node follows the last one.
  return first_place(group, sharing, position + 1) % sharing.aggregators;
}

std::int64_t nodes_for_targets(std::int64_t nodes, std::int64_t targets) {
  // The aggregators of a target are on at most most_nodes_per_target nodes, even if they begin in
  // the middle of a node.
  if (targets <= 1 || nodes < (most_nodes_per_target - 1) * targets) return nodes;
  return std::min(most_nodes_per_target, nodes / targets) * targets;
}

std::int64_t serving_alike(std::int64_t aggregators, std::int64_t targets) {
  if (aggregators >= targets) return aggregators / targets * targets;
  std::int64_t divisor = aggregators;
  while (targets % divisor != 0) --divisor;
  return divisor;
}

std::int64_t aggregators_for(const Topology& topology, GatherWithin within,
                             const FileTargets& targets) {
  const bool by_node = within == GatherWithin::node;
  const std::int64_t groups = by_node ? topology.nodes() : topology.io_groups();
  const std::int64_t nodes = std::max<std::int64_t>(1, topology.nodes() / groups);
  const std::int64_t ranks = std::max<std::int64_t>(1, topology.ranks() / groups);
  // The number of targets that the group has to keep busy.
  const std::int64_t share = std::max<std::int64_t>(1, (targets.count + groups - 1) / groups);
  return serving_alike(nodes >= share ? nodes : std::min(ranks, share), share);
}

}  // namespace weir::topology

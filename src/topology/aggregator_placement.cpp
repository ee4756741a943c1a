#include "topology/aggregator_placement.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::topology {

AggregatorPlacement::AggregatorPlacement(const Topology& topology, GatherWithin within,
                                         std::int64_t per_group)
    : topology_(topology), within_(within), per_group_(per_group) {}

Result<AggregatorPlacement> AggregatorPlacement::create(const Topology& topology,
                                                        GatherWithin within,
                                                        std::int64_t aggregators_per_group) {
  if (aggregators_per_group < 1) {
    return invalid_argument(fmt::format("{} aggregators: give at least 1", aggregators_per_group));
  }
  return AggregatorPlacement(topology, within, aggregators_per_group);
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

std::int64_t AggregatorPlacement::aggregators_in(std::int64_t group) const {
  const std::int64_t ranks = ranks_in(group);
  if (per_group_ >= ranks) return ranks;
  return std::min(per_group_, nodes_of(group) * topology_.fewest_ranks_on_a_node());
}

// The first aggregator of the node at `position`: aggregator i is on node ⌊i × nodes /
// aggregators⌋.
static std::int64_t first_aggregator(std::int64_t position, std::int64_t aggregators,
                                     std::int64_t nodes) {
  return (position * aggregators + nodes - 1) / nodes;
}

std::int64_t AggregatorPlacement::rank_of(std::int64_t group, std::int64_t number) const {
  const std::int64_t aggregators = aggregators_in(group);
  if (aggregators == ranks_in(group)) return rank_in(group, number);
  const std::int64_t nodes = nodes_of(group);
  const std::int64_t position = number * nodes / aggregators;
  const std::int64_t first = first_aggregator(position, aggregators, nodes);
  const std::int64_t on_node = first_aggregator(position + 1, aggregators, nodes) - first;
  const std::int64_t node = node_at(group, position);
  return topology_.rank_on(node, (number - first) * topology_.ranks_on(node) / on_node);
}

std::int64_t AggregatorPlacement::aggregator_at(std::int64_t rank) const {
  const std::int64_t group = group_of_rank(rank);
  const std::int64_t aggregators = aggregators_in(group);
  const std::int64_t node = topology_.node_of(rank);
  const std::int64_t place = topology_.position_on_node(rank);
  if (aggregators == ranks_in(group)) {
    if (groups() == 1) return rank;
    std::int64_t before = place;
    for (std::int64_t n = 0; node_at(group, n) != node; ++n) {
      before += topology_.ranks_on(node_at(group, n));
    }
    return before;
  }
  const std::int64_t nodes = nodes_of(group);
  const std::int64_t position =
      within_ == GatherWithin::node ? 0 : topology_.position_in_group(node);
  const std::int64_t first = first_aggregator(position, aggregators, nodes);
  const std::int64_t on_node = first_aggregator(position + 1, aggregators, nodes) - first;
  if (on_node == 0) return -1;
  const std::int64_t ranks = topology_.ranks_on(node);
  const std::int64_t number = (place * on_node + ranks - 1) / ranks;
  return number < on_node && number * ranks / on_node == place ? first + number : -1;
}

std::int64_t aggregators_for(const Topology& topology, GatherWithin within,
                             const FileTargets& targets) {
  const bool by_node = within == GatherWithin::node;
  const std::int64_t groups = by_node ? topology.nodes() : topology.io_groups();
  const std::int64_t nodes = std::max<std::int64_t>(1, topology.nodes() / groups);
  const std::int64_t ranks = std::max<std::int64_t>(1, topology.ranks() / groups);
  // What the group's share of the targets can keep busy.
  const std::int64_t share = std::max<std::int64_t>(1, (targets.count + groups - 1) / groups);
  if (nodes >= share) {
    // Most nodes, as a multiple of the targets.
    return nodes / share * share;
  }
  if (ranks >= share) return share;
  std::int64_t divisor = ranks;
  while (share % divisor != 0) --divisor;
  return divisor;
}

}  // namespace weir::topology

#include "topology/aggregator_placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace weir::topology {

namespace {

std::int64_t divide_up(std::int64_t number, std::int64_t divisor) {
  return (number + divisor - 1) / divisor;
}

}  // namespace

std::string_view name_of(PlacementRule rule) {
  switch (rule) {
    case PlacementRule::spread:
      return "spread";
    case PlacementRule::nearest:
      return "nearest";
    case PlacementRule::first:
      return "first";
    case PlacementRule::priced:
      return "priced";
  }
  return "";
}

std::vector<std::string_view> placement_rule_names() {
  std::vector<std::string_view> names;
  names.reserve(all_placement_rules.size());
  for (const PlacementRule rule : all_placement_rules) names.push_back(name_of(rule));
  return names;
}

Result<PlacementRule> parse_placement_rule(std::string_view name) {
  for (const PlacementRule rule : all_placement_rules) {
    if (name == name_of(rule)) return rule;
  }
  return invalid_argument(fmt::format("unknown placement '{}': give one of {}", name,
                                      fmt::join(placement_rule_names(), ", ")));
}

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
  if (limits.nodes_per_way_out < 0) {
    return invalid_argument(
        fmt::format("{} nodes share a way to the storage: give at least 1, or 0 if it is not known",
                    limits.nodes_per_way_out));
  }
  return AggregatorPlacement(topology, within, aggregators_per_group, limits);
}

Result<AggregatorPlacement> AggregatorPlacement::at_positions(
    std::int64_t group, std::span<const std::int32_t> positions) const {
  if (static_cast<std::int64_t>(positions.size()) != aggregators_in(group)) {
    return invalid_argument(
        fmt::format("positions are given for {} aggregators, but group {} has {}: give one for "
                    "each",
                    positions.size(), group, aggregators_in(group)));
  }
  const auto given = std::make_shared<Given>();
  given->group = group;
  given->number_at_place.resize(positions.size());
  std::iota(given->number_at_place.begin(), given->number_at_place.end(), 0);
  const auto position_of = [&](std::int32_t number) {
    return positions[static_cast<std::size_t>(number)];
  };
  std::stable_sort(given->number_at_place.begin(), given->number_at_place.end(),
                   [&](std::int32_t a, std::int32_t b) { return position_of(a) < position_of(b); });
  given->place_of_number.resize(positions.size());
  std::int64_t on_node = 0;
  for (std::size_t place = 0; place < positions.size(); ++place) {
    const std::int32_t number = given->number_at_place[place];
    const std::int32_t position = position_of(number);
    const bool is_new = place == 0 || position != given->position_at_place.back();
    on_node = is_new ? 1 : on_node + 1;
    if (position < 0 || position >= nodes_of(group) || on_node > holders_at(group, position)) {
      return invalid_argument(
          fmt::format("aggregator {} of group {} is on the node at position {}, which the group "
                      "does not have or which has no rank left: give another position",
                      number, group, position));
    }
    if (is_new) ++given->nodes_used;
    given->position_at_place.push_back(position);
    given->place_of_number[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(place);
  }
  AggregatorPlacement placed = *this;
  placed.given_ = given;
  return placed;
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
  if (limits_.rule == PlacementRule::first) {
    const std::int64_t each = limits_.nodes_per_way_out;
    sharing.nodes_per_way = each > 0 ? std::min(each, sharing.nodes) : sharing.nodes;
    const std::int64_t ways = divide_up(sharing.nodes, sharing.nodes_per_way);
    // If a way out has fewer nodes than aggregators, all nodes have some.
    const std::int64_t last = sharing.nodes - (ways - 1) * sharing.nodes_per_way;
    if (divide_up(sharing.aggregators, ways) <= last) {
      sharing.ways = ways;
      return sharing;
    }
  }
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
  if (const Given* const given = given_in(group)) return given->nodes_used;
  const Sharing sharing = sharing_in(group);
  if (sharing.ways > 0) return sharing.aggregators;
  return std::min(sharing.aggregators, sharing.by_holders ? sharing.nodes : sharing.shares);
}

// The aggregator at place p has share ⌊p × shares / aggregators⌋. Where a share is a node, share s
// is the node at position ⌊s × nodes / shares⌋. On the first nodes of ways out, way w has the
// places from ⌈w × aggregators / ways⌉ on.
std::int64_t AggregatorPlacement::first_place(std::int64_t group, const Sharing& sharing,
                                              std::int64_t position) const {
  if (const Given* const given = given_in(group)) {
    return std::lower_bound(given->position_at_place.begin(), given->position_at_place.end(),
                            position) -
           given->position_at_place.begin();
  }
  if (sharing.ways > 0) {
    if (position >= sharing.nodes) return sharing.aggregators;
    const std::int64_t way = position / sharing.nodes_per_way;
    const std::int64_t begin = divide_up(way * sharing.aggregators, sharing.ways);
    const std::int64_t end = divide_up((way + 1) * sharing.aggregators, sharing.ways);
    return std::min(begin + position % sharing.nodes_per_way, end);
  }
  const std::int64_t share = sharing.by_holders
                                 ? holders_before(group, position)
                                 : divide_up(position * sharing.shares, sharing.nodes);
  return divide_up(share * sharing.aggregators, sharing.shares);
}

std::int64_t AggregatorPlacement::position_with(std::int64_t group, const Sharing& sharing,
                                                std::int64_t place) const {
  if (const Given* const given = given_in(group)) {
    return given->position_at_place[static_cast<std::size_t>(place)];
  }
  if (sharing.ways > 0) {
    const std::int64_t way = place * sharing.ways / sharing.aggregators;
    return way * sharing.nodes_per_way + place - divide_up(way * sharing.aggregators, sharing.ways);
  }
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

bool AggregatorPlacement::serves_targets_in_turn(std::int64_t aggregators) const {
  return limits_.rule != PlacementRule::first && aggregators % limits_.targets == 0;
}

std::int64_t AggregatorPlacement::number_at(std::int64_t group, const Sharing& sharing,
                                            std::int64_t place) const {
  if (const Given* const given = given_in(group)) {
    return given->number_at_place[static_cast<std::size_t>(place)];
  }
  if (!serves_targets_in_turn(sharing.aggregators)) return place;
  const std::int64_t of_one_target = sharing.aggregators / limits_.targets;
  return place % of_one_target * limits_.targets + place / of_one_target;
}

std::int64_t AggregatorPlacement::place_of(std::int64_t group, std::int64_t number) const {
  if (const Given* const given = given_in(group)) {
    return given->place_of_number[static_cast<std::size_t>(number)];
  }
  const std::int64_t aggregators = aggregators_in(group);
  if (!serves_targets_in_turn(aggregators)) return number;
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
  return number_at(group, sharing, first + among);
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

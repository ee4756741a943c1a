// Chooses the ranks that are aggregators. Every group of nodes gets the same number of aggregators.
// By default they are spread over its nodes, so that each has its own links and memory as long as
// there are enough nodes; PlacementRule has the other ways. An aggregator gathers data only from
// ranks of its own group: no data crosses I/O groups.
//
// Aggregators have places, numbered from 0, node after node: the aggregators of a node have
// neighbouring places. The number of an aggregator equals its place, unless the aggregators serve
// the stripes of several targets in turn. In that case aggregator i serves target i mod targets,
// and the aggregators of one target have neighbouring places, so that they are on few nodes:
//
//     8 aggregators, 4 targets, 4 nodes     place     0  1   2  3   4  5   6  7
//                                           node      0  0   1  1   2  2   3  3
//                                           number    0  4   1  5   2  6   3  7
//
// Only the ranks of a node that have buffers, its holders, can be aggregators. The holders are
// spread over the node's ranks in the same way for every plan.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "topology/topology.hpp"

namespace weir::topology {

// The set of ranks whose data an aggregator may gather.
enum class GatherWithin {
  node,      // ranks of its own node, through shared memory only
  io_group,  // ranks of its own I/O group; with one group, all ranks
};

// The nodes of a group on which its aggregators are.
enum class PlacementRule : std::uint8_t {
  spread,   // evenly over the nodes
  nearest,  // each on the free node with the fewest hops to the data that it gathers
  first,    // on the first nodes, one on each, as MPI-IO libraries place them
  // Each where bytes × hops of its data, and what it shares of its node's link, of the group's way
  // out and of links between switches, cost least.
  priced,
};
inline constexpr std::array<PlacementRule, 4> all_placement_rules = {
    PlacementRule::spread, PlacementRule::nearest, PlacementRule::first, PlacementRule::priced};

// Convert between rules and the names "spread", "nearest", "first" and "priced".
// parse_placement_rule() fails on other names and lists these.
[[nodiscard]] std::string_view name_of(PlacementRule rule);
Result<PlacementRule> parse_placement_rule(std::string_view name);
[[nodiscard]] std::vector<std::string_view> placement_rule_names();

// Returns whether a rule depends on the data that aggregators gather. A placement then has the
// positions that at_positions() was given, and before that those of `spread`.
[[nodiscard]] constexpr bool depends_on_data(PlacementRule rule) {
  return rule == PlacementRule::nearest || rule == PlacementRule::priced;
}

struct AggregatorLimits {
  std::int64_t per_node = 0;  // ranks of a node that can be aggregators; 0: all
  std::int64_t targets = 1;   // targets that aggregators serve in turn
  PlacementRule rule = PlacementRule::spread;
  // Consecutive nodes of a group that share a way to the storage, where a group has several ways:
  // `first` uses the first nodes of each. 0: the group has one way.
  std::int64_t nodes_per_way_out = 0;
};

class AggregatorPlacement {
 public:
  // Places `aggregators_per_group` aggregators in each group, or as many as the group's nodes can
  // have if that is less. Nodes have equal numbers of aggregators, up to rounding, as long as the
  // smallest node can have its share. Fails if `aggregators_per_group` is less than 1.
  static Result<AggregatorPlacement> create(const Topology& topology, GatherWithin within,
                                            std::int64_t aggregators_per_group,
                                            const AggregatorLimits& limits = {});

  // Returns this placement with the aggregators of one group on the nodes at these positions:
  // aggregator i at positions[i]. Fails if their number is not aggregators_in(group), or if a node
  // would have more aggregators than holders.
  [[nodiscard]] Result<AggregatorPlacement> at_positions(
      std::int64_t group, std::span<const std::int32_t> positions) const;

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const AggregatorLimits& limits() const { return limits_; }
  [[nodiscard]] GatherWithin within() const { return within_; }
  [[nodiscard]] std::int64_t groups() const;
  [[nodiscard]] std::int64_t group_of_rank(std::int64_t rank) const;

  [[nodiscard]] std::int64_t aggregators_in(std::int64_t group) const;
  // Return the number of nodes of a group, the node at a position among them in ascending order,
  // and how many ranks of that node can be aggregators.
  [[nodiscard]] std::int64_t nodes_of(std::int64_t group) const;
  [[nodiscard]] std::int64_t node_at(std::int64_t group, std::int64_t position) const;
  [[nodiscard]] std::int64_t holders_at(std::int64_t group, std::int64_t position) const {
    return holders_on(node_at(group, position));
  }
  // Returns the number of nodes of a group that have aggregators.
  [[nodiscard]] std::int64_t nodes_used(std::int64_t group) const;
  // Returns the rank that is aggregator `number` of a group, 0 <= number < aggregators_in(group).
  // No rank is more than one aggregator.
  [[nodiscard]] std::int64_t rank_of(std::int64_t group, std::int64_t number) const;
  // Returns the number of a rank among the aggregators of its group; -1 if it is not an aggregator.
  [[nodiscard]] std::int64_t aggregator_at(std::int64_t rank) const;
  // Returns the place of an aggregator among the aggregators of its group, ordered node after node.
  [[nodiscard]] std::int64_t place_of(std::int64_t group, std::int64_t number) const;
  // Returns the place at which a rank starts when it visits the aggregators of its group: the place
  // of the first aggregator on the next node that has any. Different nodes therefore visit
  // different aggregators at a time, but the ranks of one node, which fill messages together, visit
  // the same.
  [[nodiscard]] std::int64_t first_place_for(std::int64_t rank) const;

 private:
  // The division of a group's aggregators: evenly over `shares`, of which each node has some.
  struct Sharing {
    std::int64_t aggregators = 0;
    std::int64_t shares = 0;
    std::int64_t nodes = 0;   // number of nodes of the group
    bool by_holders = false;  // true: a share is a rank that can aggregate; false: a node
    // With PlacementRule::first: how many ways out the group has, and the nodes of each; 0: the
    // aggregators are spread.
    std::int64_t ways = 0;
    std::int64_t nodes_per_way = 0;
  };
  // Given positions of the aggregators of a group, with places in ascending order of positions.
  struct Given {
    std::int64_t group = 0;
    std::int64_t nodes_used = 0;
    std::vector<std::int32_t> position_at_place;
    std::vector<std::int32_t> number_at_place;
    std::vector<std::int32_t> place_of_number;
  };
  AggregatorPlacement(const Topology& topology, GatherWithin within, std::int64_t per_group,
                      const AggregatorLimits& limits);
  [[nodiscard]] const Given* given_in(std::int64_t group) const {
    return given_ != nullptr && given_->group == group ? given_.get() : nullptr;
  }
  [[nodiscard]] bool serves_targets_in_turn(std::int64_t aggregators) const;
  [[nodiscard]] std::int64_t number_at(std::int64_t group, const Sharing& sharing,
                                       std::int64_t place) const;
  [[nodiscard]] std::int64_t position_of(std::int64_t node) const;
  [[nodiscard]] std::int64_t holders_on(std::int64_t node) const;
  // Returns the number of holders on the nodes of a group before the node at `position`.
  [[nodiscard]] std::int64_t holders_before(std::int64_t group, std::int64_t position) const;
  [[nodiscard]] Sharing sharing_in(std::int64_t group) const;
  // Returns the place of the first aggregator on the node at `position` or on a later one.
  [[nodiscard]] std::int64_t first_place(std::int64_t group, const Sharing& sharing,
                                         std::int64_t position) const;
  [[nodiscard]] std::int64_t position_with(std::int64_t group, const Sharing& sharing,
                                           std::int64_t place) const;

  Topology topology_;
  GatherWithin within_;
  std::int64_t per_group_;
  AggregatorLimits limits_;
  // Number of holders on the nodes before each node, in its group. It is set only where the nodes
  // have different numbers of holders. Copies of a placement share it.
  std::shared_ptr<const std::vector<std::int64_t>> holders_before_;
  std::shared_ptr<const Given> given_;  // null: the positions follow from numbers
};

// The largest number of nodes that write to one target where there are more nodes than targets. A
// few nodes fill the target's link; each further one costs locks and seeks there.
inline constexpr std::int64_t most_nodes_per_target = 4;

// Returns how many of `nodes` nodes the aggregators of `targets` targets are spread over: all
// nodes, or a multiple of `targets` for which no target is used by more than most_nodes_per_target
// nodes.
[[nodiscard]] std::int64_t nodes_for_targets(std::int64_t nodes, std::int64_t targets);

// Returns a number of aggregators for one group, for use when nothing but the topology and the
// targets is known. It is one per node, but at least one per target if the group has enough ranks,
// and then a multiple or a divisor of the number of targets, so that all targets are served
// equally.
[[nodiscard]] std::int64_t aggregators_for(const Topology& topology, GatherWithin within,
                                           const FileTargets& targets);

// Returns the largest number up to `aggregators` that is a multiple or a divisor of `targets`.
[[nodiscard]] std::int64_t serving_alike(std::int64_t aggregators, std::int64_t targets);

}  // namespace weir::topology

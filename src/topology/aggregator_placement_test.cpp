#include "topology/aggregator_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace weir::topology {
namespace {

std::set<std::int64_t> ranks_in(const AggregatorPlacement& placement, std::int64_t group) {
  const Topology& topology = placement.topology();
  std::set<std::int64_t> ranks;
  for (std::int64_t position = 0; position < placement.nodes_of(group); ++position) {
    const std::int64_t node = placement.node_at(group, position);
    for (std::int64_t i = 0; i < topology.ranks_on(node); ++i) {
      EXPECT_TRUE(ranks.insert(topology.rank_on(node, i)).second);
    }
  }
  return ranks;
}

// Every aggregator is a rank of its group, no rank is two, and aggregator_at() is the inverse.
void check(const AggregatorPlacement& placement) {
  std::int64_t found = 0;
  std::int64_t ranks = 0;
  for (std::int64_t group = 0; group < placement.groups(); ++group) {
    std::set<std::int64_t> members = ranks_in(placement, group);
    for (const std::int64_t rank : members) ASSERT_EQ(placement.group_of_rank(rank), group);
    ranks += static_cast<std::int64_t>(members.size());
    for (std::int64_t number = 0; number < placement.aggregators_in(group); ++number) {
      const std::int64_t rank = placement.rank_of(group, number);
      ASSERT_EQ(members.erase(rank), 1U) << rank;
      ASSERT_EQ(placement.aggregator_at(rank), number);
      ++found;
    }
    for (const std::int64_t rank : members) ASSERT_EQ(placement.aggregator_at(rank), -1);
    ASSERT_GE(placement.aggregators_in(group), 1);
  }
  // Places go node after node.
  for (std::int64_t group = 0; group < placement.groups(); ++group) {
    std::vector<std::int64_t> node_at(static_cast<std::size_t>(placement.aggregators_in(group)),
                                      -1);
    for (std::int64_t number = 0; number < placement.aggregators_in(group); ++number) {
      auto& node = node_at.at(static_cast<std::size_t>(placement.place_of(group, number)));
      ASSERT_EQ(node, -1);
      const Topology& topology = placement.topology();
      node = topology.position_in_group(topology.node_of(placement.rank_of(group, number)));
    }
    if (placement.within() == GatherWithin::io_group) {
      ASSERT_TRUE(std::is_sorted(node_at.begin(), node_at.end()));
      ASSERT_LE(std::set<std::int64_t>(node_at.begin(), node_at.end()).size(),
                static_cast<std::size_t>(placement.nodes_used(group)));
    }
    for (const std::int64_t rank : ranks_in(placement, group)) {
      const std::int64_t first = placement.first_place_for(rank);
      ASSERT_GE(first, 0);
      ASSERT_LT(first, placement.aggregators_in(group));
    }
  }
  ASSERT_EQ(ranks, placement.topology().ranks());
  ASSERT_GE(found, placement.groups());
}

TEST(AggregatorPlacement, IsWithinGroupsAndWithoutDoubles) {
  const std::vector<std::int64_t> mixed = {0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 0, 4, 4};
  std::vector<Topology> topologies = {
      Topology::single_node(8).value(), Topology::filled(24, 4).value(),
      Topology::round_robin(25, 6).value(), Topology::of_nodes(mixed).value()};
  topologies.push_back(topologies[1].with_io_groups(2).value());
  topologies.push_back(
      topologies[3].with_io_groups(std::vector<std::int64_t>{0, 1, 0, 1, 2}).value());
  for (const Topology& topology : topologies) {
    for (const std::int64_t wanted : {1, 2, 3, 4, 5, 7, 100}) {
      for (const AggregatorLimits& limits :
           std::vector<AggregatorLimits>{{},
                                         {1, 1},
                                         {2, 1},
                                         {3, 2},
                                         {0, 3},
                                         {2, 4},
                                         {100, 1},
                                         {0, 1, PlacementRule::first},
                                         {2, 3, PlacementRule::first},
                                         {2, 1, PlacementRule::first, 2},
                                         {0, 2, PlacementRule::nearest}}) {
        check(AggregatorPlacement::create(topology, GatherWithin::node, wanted, limits).value());
        check(
            AggregatorPlacement::create(topology, GatherWithin::io_group, wanted, limits).value());
      }
    }
  }
}

TEST(AggregatorPlacement, SpreadsOverNodes) {
  const auto topology = Topology::filled(64, 8).value();
  for (const std::int64_t wanted : {2, 4, 8, 16, 24}) {
    const auto placement =
        AggregatorPlacement::create(topology, GatherWithin::io_group, wanted).value();
    std::map<std::int64_t, std::int64_t> on_node;
    for (std::int64_t i = 0; i < wanted; ++i) ++on_node[topology.node_of(placement.rank_of(0, i))];
    EXPECT_EQ(static_cast<std::int64_t>(on_node.size()), std::min<std::int64_t>(wanted, 8));
    for (const auto& [node, count] : on_node)
      EXPECT_EQ(count, std::max<std::int64_t>(1, wanted / 8));
  }
}

// Returns the nodes of the aggregators of a group, by number.
std::vector<std::int64_t> nodes_of_aggregators(const AggregatorPlacement& placement,
                                               std::int64_t group) {
  std::vector<std::int64_t> nodes;
  nodes.reserve(static_cast<std::size_t>(placement.aggregators_in(group)));
  for (std::int64_t number = 0; number < placement.aggregators_in(group); ++number) {
    nodes.push_back(placement.topology().node_of(placement.rank_of(group, number)));
  }
  return nodes;
}

AggregatorPlacement first_nodes(const Topology& topology, std::int64_t wanted,
                                std::int64_t nodes_per_way_out = 0) {
  return AggregatorPlacement::create(topology, GatherWithin::io_group, wanted,
                                     {0, 1, PlacementRule::first, nodes_per_way_out})
      .value();
}

// ROMIO takes the first process of each of the first cb_nodes hosts, in the order of the hosts.
TEST(AggregatorPlacement, FirstTakesTheFirstNodesOfAGroupAsMpiIoDoes) {
  const auto topology = Topology::filled(64 * 4, 4).value().with_io_groups(16).value();
  const auto placement = first_nodes(topology, 5);
  for (std::int64_t group = 0; group < 4; ++group) {
    for (std::int64_t number = 0; number < 5; ++number) {
      EXPECT_EQ(placement.rank_of(group, number), (group * 16 + number) * 4);
    }
  }
  EXPECT_EQ(placement.nodes_used(0), 5);
  // With as many aggregators as nodes or more, every node has some.
  const auto all = first_nodes(topology, 32);
  EXPECT_EQ(all.nodes_used(1), 16);
  EXPECT_EQ(nodes_of_aggregators(all, 1)[31], 31);
  // The numbers do not depend on targets, as with MPI-IO.
  const auto striped =
      AggregatorPlacement::create(topology, GatherWithin::io_group, 4, {0, 2, PlacementRule::first})
          .value();
  EXPECT_EQ(nodes_of_aggregators(striped, 1), (std::vector<std::int64_t>{16, 17, 18, 19}));
}

TEST(AggregatorPlacement, FirstTakesTheFirstNodesOfEachWayOut) {
  const auto topology = Topology::filled(10, 1).value();
  // The ways out have 4, 4 and 2 nodes.
  EXPECT_EQ(nodes_of_aggregators(first_nodes(topology, 6, 4), 0),
            (std::vector<std::int64_t>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(nodes_of_aggregators(first_nodes(topology, 4, 4), 0),
            (std::vector<std::int64_t>{0, 1, 4, 8}));
  EXPECT_EQ(nodes_of_aggregators(first_nodes(topology, 1, 4), 0), (std::vector<std::int64_t>{0}));
  // A way out with two nodes has no three aggregators.
  EXPECT_EQ(first_nodes(topology, 7, 4).nodes_used(0), 7);
  EXPECT_FALSE(AggregatorPlacement::create(topology, GatherWithin::io_group, 1,
                                           {0, 1, PlacementRule::first, -1})
                   .ok());
}

TEST(AggregatorPlacement, TakesGivenPositions) {
  const auto topology = Topology::filled(24, 3).value().with_io_groups(4).value();
  for (const auto rule : {PlacementRule::nearest, PlacementRule::priced}) {
    const auto placement =
        AggregatorPlacement::create(topology, GatherWithin::io_group, 4, {2, 2, rule}).value();
    const std::vector<std::int32_t> positions = {3, 1, 3, 0};
    const auto placed = placement.at_positions(1, positions);
    ASSERT_TRUE(placed.ok());
    check(placed.value());
    EXPECT_EQ(nodes_of_aggregators(placed.value(), 1), (std::vector<std::int64_t>{7, 5, 7, 4}));
    EXPECT_EQ(placed.value().nodes_used(1), 3);
    EXPECT_EQ(nodes_of_aggregators(placed.value(), 0), nodes_of_aggregators(placement, 0));
    // The ranks of a node start with the aggregators of the next node that has any.
    EXPECT_EQ(placed.value().first_place_for(12), placed.value().place_of(1, 1));
    EXPECT_EQ(placed.value().first_place_for(15), placed.value().place_of(1, 0));
    EXPECT_EQ(placed.value().first_place_for(23), placed.value().place_of(1, 3));
    using Positions = std::vector<std::int32_t>;
    for (const Positions& wrong : {Positions{0, 1, 2}, Positions{0, 0, 0, 1}, Positions{0, 1, 2, 4},
                                   Positions{-1, 1, 2, 3}}) {
      EXPECT_FALSE(placement.at_positions(1, wrong).ok());
    }
  }
}

TEST(AggregatorPlacement, RulesHaveNames) {
  for (const PlacementRule rule : all_placement_rules) {
    EXPECT_EQ(parse_placement_rule(name_of(rule)).value(), rule);
  }
  EXPECT_EQ(parse_placement_rule("last").error().message,
            "unknown placement 'last': give one of spread, nearest, first, priced");
}

// The nodes of each target's aggregators.
std::vector<std::set<std::int64_t>> nodes_of_targets(const Topology& topology, std::int64_t wanted,
                                                     const AggregatorLimits& limits) {
  const auto placement =
      AggregatorPlacement::create(topology, GatherWithin::io_group, wanted, limits).value();
  EXPECT_EQ(placement.aggregators_in(0), wanted);
  std::vector<std::set<std::int64_t>> nodes(static_cast<std::size_t>(limits.targets));
  for (std::int64_t number = 0; number < wanted; ++number) {
    nodes[static_cast<std::size_t>(number % limits.targets)].insert(
        topology.node_of(placement.rank_of(0, number)));
  }
  return nodes;
}

TEST(AggregatorPlacement, AggregatorsOfATargetAreOnFewNodes) {
  for (const std::int64_t nodes : {64, 100, 128, 191, 192, 255, 256, 1000}) {
    const auto topology = Topology::filled(nodes * 32, 32).value();
    for (const std::int64_t each : {1, 2, 4, 16}) {
      const std::int64_t wanted = nodes_for_targets(nodes, 64) * each / 64 * 64;
      for (const auto& met : nodes_of_targets(topology, wanted, {16, 64})) {
        EXPECT_LE(met.size(), 4U) << nodes << " nodes, " << each << " each";
      }
    }
  }
  // The last node has one rank, which cannot be two aggregators.
  const auto short_of_one = Topology::filled(127 * 32 + 1, 32).value();
  for (const std::int64_t wanted : {64, 128, 256, 1024}) {
    for (const auto& met : nodes_of_targets(short_of_one, wanted, {16, 64})) {
      EXPECT_LE(met.size(), 4U) << wanted;
    }
  }
}

TEST(AggregatorPlacement, TakesTheSameHoldersOfANodeWhicheverNumberIsAskedFor) {
  const auto topology = Topology::filled(40, 10).value();
  const auto holders = AggregatorPlacement::create(topology, GatherWithin::node, 4, {4, 1}).value();
  for (const std::int64_t wanted : {1, 3, 4, 7, 12, 16, 100}) {
    const auto placement =
        AggregatorPlacement::create(topology, GatherWithin::io_group, wanted, {4, 2}).value();
    EXPECT_EQ(placement.aggregators_in(0), std::min<std::int64_t>(wanted, 16));
    for (std::int64_t number = 0; number < placement.aggregators_in(0); ++number) {
      EXPECT_GE(holders.aggregator_at(placement.rank_of(0, number)), 0);
    }
  }
}

TEST(AggregatorPlacement, RanksOfANodeBeginAtTheNextOne) {
  const auto topology = Topology::filled(64, 8).value();
  const auto placement =
      AggregatorPlacement::create(topology, GatherWithin::io_group, 32, {4, 4}).value();
  for (std::int64_t rank = 0; rank < 64; ++rank) {
    const std::int64_t first = placement.first_place_for(rank);
    EXPECT_EQ(first, (rank / 8 + 1) % 8 * 4);
  }
}

TEST(AggregatorsFor, FollowNodesAndTargets) {
  const auto topology = Topology::filled(64, 8).value();
  EXPECT_EQ(aggregators_for(topology, GatherWithin::io_group, {1, 0, 0}), 8);
  EXPECT_EQ(aggregators_for(topology, GatherWithin::io_group, {4, 1 << 20, 0}), 8);
  EXPECT_EQ(aggregators_for(topology, GatherWithin::io_group, {3, 1 << 20, 0}), 6);
  EXPECT_EQ(aggregators_for(topology, GatherWithin::io_group, {32, 1 << 20, 0}), 32);
  EXPECT_EQ(aggregators_for(topology, GatherWithin::io_group, {96, 1 << 20, 0}), 48);
  EXPECT_EQ(aggregators_for(topology, GatherWithin::node, {32, 1 << 20, 0}), 4);
  EXPECT_EQ(aggregators_for(topology, GatherWithin::node, {1, 0, 0}), 1);
}

TEST(AggregatorPlacement, RefusesNone) {
  EXPECT_FALSE(
      AggregatorPlacement::create(Topology::single_node(2).value(), GatherWithin::node, 0).ok());
}

}  // namespace
}  // namespace weir::topology

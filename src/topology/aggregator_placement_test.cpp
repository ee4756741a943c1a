#include "topology/aggregator_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace weir::topology {
namespace {

// Every aggregator is a rank of its group, no rank is two, and aggregator_at() is the inverse.
void check(const AggregatorPlacement& placement) {
  std::int64_t found = 0;
  std::int64_t ranks = 0;
  for (std::int64_t group = 0; group < placement.groups(); ++group) {
    std::set<std::int64_t> members;
    for (std::int64_t i = 0; i < placement.ranks_in(group); ++i) {
      const std::int64_t rank = placement.rank_in(group, i);
      ASSERT_EQ(placement.group_of_rank(rank), group);
      members.insert(rank);
    }
    ASSERT_EQ(static_cast<std::int64_t>(members.size()), placement.ranks_in(group));
    ranks += placement.ranks_in(group);
    for (std::int64_t number = 0; number < placement.aggregators_in(group); ++number) {
      const std::int64_t rank = placement.rank_of(group, number);
      ASSERT_EQ(members.erase(rank), 1U) << rank;
      ASSERT_EQ(placement.aggregator_at(rank), number);
      ++found;
    }
    for (const std::int64_t rank : members) ASSERT_EQ(placement.aggregator_at(rank), -1);
    ASSERT_GE(placement.aggregators_in(group), 1);
  }
  ASSERT_EQ(ranks, placement.topology().ranks());
  ASSERT_GE(found, placement.groups());
}

TEST(AggregatorPlacement, IsWithinGroupsAndWithoutDoubles) {
  const std::vector<std::int64_t> mixed = {0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 0, 4, 4};
  std::vector<Topology> topologies = {
      Topology::single_node(8).value(), Topology::filled(24, 4).value(),
      Topology::dealt(25, 6).value(), Topology::of_nodes(mixed).value()};
  topologies.push_back(topologies[1].with_io_groups(2).value());
  topologies.push_back(
      topologies[3].with_io_groups(std::vector<std::int64_t>{0, 1, 0, 1, 2}).value());
  for (const Topology& topology : topologies) {
    for (const std::int64_t wanted : {1, 2, 3, 4, 5, 7, 100}) {
      check(AggregatorPlacement::create(topology, GatherWithin::node, wanted).value());
      check(AggregatorPlacement::create(topology, GatherWithin::io_group, wanted).value());
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

#include "topology/network.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Network network(const std::string& text) {
  auto parsed = Network::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return std::move(parsed).value();
}

std::string complaint(const std::string& text) {
  const auto parsed = Network::parse(text);
  return parsed.ok() ? "" : parsed.error().message;
}

std::int64_t places_of(const Network& network) {
  std::int64_t places = 1;
  for (const std::int64_t extent : network.extents()) places *= extent;
  return places;
}

// Returns the nodes that have a link to a node of a torus or mesh, from the definition.
std::vector<std::int64_t> neighbours(const Network& network, std::int64_t node) {
  std::vector<std::int64_t> found;
  for (std::int64_t other = 0; other < places_of(network); ++other) {
    int differing = 0;
    bool adjacent = true;
    for (std::size_t d = 0; d < network.extents().size(); ++d) {
      const std::int64_t a = network.coordinate(node, d);
      const std::int64_t b = network.coordinate(other, d);
      if (a == b) continue;
      ++differing;
      const std::int64_t apart = std::abs(a - b);
      const bool around =
          network.kind() == Network::Kind::torus && apart == network.extents()[d] - 1;
      adjacent = adjacent && (apart == 1 || around);
    }
    if (differing == 1 && adjacent) found.push_back(other);
  }
  return found;
}

std::vector<std::int64_t> distances_by_search(const Network& network, std::int64_t from) {
  std::vector<std::int64_t> distance(static_cast<std::size_t>(places_of(network)), -1);
  distance[static_cast<std::size_t>(from)] = 0;
  std::deque<std::int64_t> next = {from};
  while (!next.empty()) {
    const std::int64_t node = next.front();
    next.pop_front();
    for (const std::int64_t other : neighbours(network, node)) {
      auto& there = distance[static_cast<std::size_t>(other)];
      if (there >= 0) continue;
      there = distance[static_cast<std::size_t>(node)] + 1;
      next.push_back(other);
    }
  }
  return distance;
}

TEST(Network, HopsAreTheShortestWays) {
  for (const char* text : {"1", "2", "5", "6", "1x1x4", "3x4", "2x2x2", "4x3x5", "2x3x2x3",
                           "mesh:7", "mesh:3x4", "mesh:2x3x4", "mesh:1x5"}) {
    SCOPED_TRACE(text);
    const Network one = network(text);
    for (std::int64_t from = 0; from < places_of(one); ++from) {
      const auto distance = distances_by_search(one, from);
      for (std::int64_t to = 0; to < places_of(one); ++to) {
        ASSERT_EQ(one.hops(from, to), distance[static_cast<std::size_t>(to)])
            << from << " to " << to;
      }
    }
  }
}

// A route is as long as the hops say, never passes a link twice, and a link belongs to one pair of
// neighbours: all routes of one hop have different links, and every route consists of them.
TEST(Network, RoutesConsistOfLinksBetweenNeighbours) {
  for (const char* text :
       {"2", "5", "3x4", "2x3x4", "mesh:3x4", "switches:3", "switches:1", "fat-tree:3x2",
        "dragonfly:1x2x1x2", "dragonfly:2x3x2x4", "dragonfly:3x4x1x1"}) {
    SCOPED_TRACE(text);
    const Network one = network(text);
    const bool is_tree = one.extents().empty();
    const std::int64_t nodes = is_tree ? (one.check_nodes(10).ok() ? 10 : 4) : places_of(one);
    std::set<std::int64_t> of_neighbours;
    std::size_t pairs = 0;
    for (std::int64_t from = 0; from < nodes && !is_tree; ++from) {
      for (const std::int64_t to : neighbours(one, from)) {
        std::vector<std::int64_t> links;
        one.route(from, to, links);
        ASSERT_EQ(links.size(), 1U);
        of_neighbours.insert(links.front());
        ++pairs;
      }
    }
    ASSERT_EQ(of_neighbours.size(), pairs);
    for (std::int64_t from = 0; from < nodes; ++from) {
      for (std::int64_t to = 0; to < nodes; ++to) {
        std::vector<std::int64_t> links;
        one.route(from, to, links);
        ASSERT_EQ(static_cast<std::int64_t>(links.size()), one.hops(from, to));
        ASSERT_EQ(std::set<std::int64_t>(links.begin(), links.end()).size(), links.size());
        for (const std::int64_t link : links) ASSERT_TRUE(is_tree || of_neighbours.contains(link));
      }
    }
  }
}

TEST(Network, RoutesTakeTheDimensionsInOrder) {
  const Network torus = network("4x4");
  std::vector<std::int64_t> direct;
  torus.route(0, 5, direct);  // from (0, 0) to (1, 1)
  std::vector<std::int64_t> by_parts;
  torus.route(0, 4, by_parts);
  torus.route(4, 5, by_parts);
  EXPECT_EQ(direct, by_parts);
  // A route takes the ascending one of two equal ways around a ring.
  std::vector<std::int64_t> half;
  torus.route(0, 2, half);
  by_parts.clear();
  torus.route(0, 1, by_parts);
  torus.route(1, 2, by_parts);
  EXPECT_EQ(half, by_parts);
}

TEST(Network, ATreeHasOneSwitchAboveTheOthers) {
  const Network tree = network("switches:4");
  EXPECT_EQ(tree.hops(1, 1), 0);
  EXPECT_EQ(tree.hops(0, 3), 2);
  EXPECT_EQ(tree.hops(3, 4), 4);
  // All messages that leave a switch share its link upwards.
  std::vector<std::int64_t> from_0;
  std::vector<std::int64_t> from_1;
  tree.route(0, 9, from_0);
  tree.route(1, 5, from_1);
  EXPECT_NE(from_0[0], from_1[0]);
  EXPECT_EQ(from_0[1], from_1[1]);
}

std::vector<std::string> names_on_route(const Network& network, std::int64_t from,
                                        std::int64_t to) {
  std::vector<std::int64_t> links;
  network.route(from, to, links);
  std::vector<std::string> names;
  names.reserve(links.size());
  for (const std::int64_t link : links) {
    names.push_back((network.is_node_link(link) ? "" : "* ") + network.name_of(link));
  }
  return names;
}

TEST(Network, AFatTreeHasASwitchAboveForEachReceiver) {
  const Network tree = network("fat-tree:4x2");
  EXPECT_EQ(tree.hops(0, 3), 2);
  EXPECT_EQ(tree.hops(0, 4), 4);
  EXPECT_THAT(names_on_route(tree, 0, 3), ElementsAre("node 0 up", "node 3 down"));
  EXPECT_THAT(names_on_route(tree, 0, 4),
              ElementsAre("node 0 up", "* switch 0 up 0", "* switch 1 down 0", "node 4 down"));
  EXPECT_THAT(names_on_route(tree, 6, 3),
              ElementsAre("node 6 up", "* switch 1 up 1", "* switch 0 down 1", "node 3 down"));
  EXPECT_EQ(network("fat-tree:4x1"), network("switches:4"));
}

// Three groups of two switches with one link each, and one node on each switch: switch 0 of a group
// leads to the first other group, switch 1 to the second.
TEST(Network, ADragonflyLeavesAGroupByTheSwitchWithTheLink) {
  const Network small = network("dragonfly:1x2x1x3");
  EXPECT_THAT(names_on_route(small, 0, 1),
              ElementsAre("node 0 up", "* switch 0 to 1", "node 1 down"));
  EXPECT_THAT(names_on_route(small, 0, 2),
              ElementsAre("node 0 up", "* group 0 to 1 link 0", "node 2 down"));
  EXPECT_THAT(names_on_route(small, 0, 4),
              ElementsAre("node 0 up", "* switch 0 to 1", "* group 0 to 2 link 0", "node 4 down"));
  EXPECT_THAT(names_on_route(small, 1, 3),
              ElementsAre("node 1 up", "* switch 1 to 0", "* group 0 to 1 link 0",
                          "* switch 2 to 3", "node 3 down"));
}

// With four links between two groups, nodes of different numbers take different ones.
TEST(Network, ADragonflyUsesAllLinksBetweenTwoGroups) {
  const Network two = network("dragonfly:4x2x2x2");
  std::set<std::string> between;
  for (std::int64_t to = 8; to < 16; ++to) {
    for (const std::string& name : names_on_route(two, 0, to)) {
      if (name.find("group") != std::string::npos) between.insert(name);
    }
  }
  EXPECT_THAT(between, ElementsAre("* group 0 to 1 link 0", "* group 0 to 1 link 1",
                                   "* group 0 to 1 link 2", "* group 0 to 1 link 3"));
}

TEST(Network, LinksOfATorusAreNamedByPlaces) {
  EXPECT_THAT(names_on_route(network("4x4"), 0, 13),
              ElementsAre("* place 0 dimension 0 descending", "* place 12 dimension 1 ascending"));
}

TEST(Network, CoordinatesMayBeListed) {
  const Network listed = network("torus:4x4@0.0,0.1,3.0,2.2");
  EXPECT_EQ(listed.hops(0, 1), 1);
  EXPECT_EQ(listed.hops(0, 2), 1);
  EXPECT_EQ(listed.hops(0, 3), 4);
  EXPECT_EQ(listed.coordinate(2, 0), 3);
  EXPECT_TRUE(listed.check_nodes(4).ok());
  EXPECT_THAT(listed.check_nodes(3).error().message, HasSubstr("lists the coordinates of 4 nodes"));
  EXPECT_THAT(listed.check_nodes(5).error().message, HasSubstr("but the ranks are on 5"));
  EXPECT_EQ(listed, network(listed.text()));
  EXPECT_NE(listed, network("4x4"));
}

TEST(Network, TextsAreReadAndWritten) {
  for (const char* text : {"8x8x16", "mesh:2x2", "switches:16", "4x4@0.0,3.3", "1", "65536",
                           "fat-tree:16x8", "dragonfly:4x8x2x9"}) {
    EXPECT_EQ(network(text).text(), text);
  }
  EXPECT_EQ(network("torus:8x8"), network("8x8"));
  EXPECT_NE(network("mesh:8x8"), network("8x8"));
  EXPECT_NE(network("switches:8"), network("switches:9"));
  EXPECT_NE(network("fat-tree:8x2"), network("fat-tree:8x3"));
  EXPECT_NE(network("dragonfly:4x8x2x9"), network("dragonfly:4x8x2x8"));
}

TEST(Network, WhatIsNoNetworkIsRefused) {
  EXPECT_THAT(complaint(""), HasSubstr("extent 1 is not a whole number from 1 to 65536"));
  EXPECT_THAT(complaint("8x"), HasSubstr("extent 2 is not a whole number"));
  EXPECT_THAT(complaint("8x-1"), HasSubstr("extent 2"));
  EXPECT_THAT(complaint("0x8"), HasSubstr("extent 1"));
  EXPECT_THAT(complaint("hypercube:8"), HasSubstr("the kind of network is not known: give"));
  EXPECT_THAT(complaint("switches:0"), HasSubstr("the nodes of a switch are not"));
  EXPECT_THAT(complaint("switches:"), HasSubstr("the nodes of a switch are not"));
  EXPECT_THAT(complaint("fat-tree:16"), HasSubstr("a fat tree is not the nodes of each switch"));
  EXPECT_THAT(complaint("fat-tree:16x0"), HasSubstr("a fat tree is not"));
  EXPECT_THAT(complaint("dragonfly:4x8x2"), HasSubstr("a dragonfly is not the nodes of each"));
  EXPECT_THAT(complaint("dragonfly:4x8x2x9x1"), HasSubstr("a dragonfly is not"));
  EXPECT_THAT(complaint("dragonfly:4x2x1x4"),
              HasSubstr("has 2 links, and there are 3 other groups: give more links"));
  EXPECT_THAT(complaint("4x4@"), HasSubstr("the coordinates of node 0 are not 2 numbers"));
  EXPECT_THAT(complaint("4x4@0.0,0.4"), HasSubstr("the coordinates of node 1"));
  EXPECT_THAT(complaint("4x4@0.0.0"), HasSubstr("such as 0.0"));
  EXPECT_THAT(complaint("4x4@0.0,,1.1"), HasSubstr("the coordinates of node 1"));
}

TEST(Network, LimitsAreKept) {
  EXPECT_EQ(complaint("65536"), "");
  EXPECT_THAT(complaint("65537"), HasSubstr("from 1 to 65536"));
  EXPECT_EQ(complaint("1x1x1x1x1x1"), "");
  EXPECT_THAT(complaint("1x1x1x1x1x1x1"), HasSubstr("more than 6 dimensions"));
  EXPECT_EQ(complaint("32767x65536"), "");
  EXPECT_THAT(complaint("32768x65536"), HasSubstr("or 2147483647 places"));
  EXPECT_EQ(complaint("switches:2147483647"), "");
  EXPECT_THAT(complaint("switches:2147483648"), HasSubstr("from 1 to 2147483647"));
  EXPECT_THAT(complaint("fat-tree:65536x65536"), HasSubstr("a product of at most 2147483647"));
  EXPECT_THAT(complaint("dragonfly:2048x1024x1024x1024"), HasSubstr("a product of at most"));
  std::string list = "2@0";
  for (std::int64_t node = 1; node < Network::most_listed_nodes; ++node) list += ",1";
  EXPECT_EQ(complaint(list), "");
  EXPECT_THAT(complaint(list + ",1"), HasSubstr("more than 1048576 nodes"));
}

TEST(Network, AJobMustFit) {
  const auto topology = Topology::filled(24, 2).value();
  EXPECT_TRUE(topology.with_network(network("3x4")).ok());
  EXPECT_TRUE(topology.with_network(network("switches:5")).ok());
  const auto refused = topology.with_network(network("11"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "network 11 has 11 places, but the ranks are on 12 nodes: give larger extents");
  EXPECT_TRUE(topology.with_network(network("dragonfly:2x3x1x2")).ok());
  EXPECT_THAT(topology.with_network(network("dragonfly:2x2x1x2")).error().message,
              HasSubstr("network dragonfly:2x2x1x2 has 8 places"));
  EXPECT_NE(topology, topology.with_network(network("3x4")).value());
  EXPECT_EQ(topology.with_network(network("3x4")).value(),
            topology.with_network(network("3x4")).value());
  EXPECT_NE(topology.with_network(network("4x4")).value(),
            topology.with_network(network("3x4")).value());
}

TEST(WeightedHops, AreTheSumsOverAllNodes) {
  for (const char* text :
       {"", "1", "2x1", "3", "4", "7x2", "6x5", "3x4x5", "mesh:9", "mesh:4x5", "switches:4",
        "switches:1", "fat-tree:3x2", "dragonfly:1x5x1x2", "dragonfly:2x2x3x4", "dragonfly:3x2x2x3",
        "8x8@0.0,0.0,7.7,3.4,1.2,5.5,6.1,4.4"}) {
    SCOPED_TRACE(text);
    const std::string of(text);
    const bool by_places = !of.empty() && !network(of).extents().empty();
    const std::int64_t nodes = of.find('@') != std::string::npos ? 8
                               : by_places                       ? places_of(network(of))
                                                                 : 10;
    auto topology = Topology::filled(nodes, 1).value();
    if (!of.empty()) topology = topology.with_network(network(of)).value();
    WeightedHops hops(topology);
    std::map<std::int64_t, double> weights;
    for (std::int64_t i = 0; i < nodes; ++i) {
      const std::int64_t node = i * 5 % nodes;
      const auto weight = static_cast<double>(i * i % 7);
      weights[node] += weight;
      hops.add(node, weight);
    }
    hops.finish();
    std::vector<std::int64_t> links;
    for (std::int64_t to = 0; to < nodes; ++to) {
      double sum = 0;
      for (const auto& [from, weight] : weights) {
        links.clear();
        add_route(topology, from, to, links);
        sum += weight * static_cast<double>(links.size());
      }
      EXPECT_EQ(hops.to(to), sum) << "to node " << to;
    }
  }
}

}  // namespace
}  // namespace weir::topology

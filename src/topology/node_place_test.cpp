#include "topology/node_place.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::topology {
namespace {

constexpr const char* tree = "switch.switch.node";

TEST(NodePlace, BySlurmIsThatOfTheNodeAndOfItsSwitches) {
  const NodePlace one = place_by_slurm("top.s0.n1", tree);
  EXPECT_NE(one.node, 0U);
  EXPECT_EQ(one, place_by_slurm("top.s0.n1", tree));
  const NodePlace neighbour = place_by_slurm("top.s0.n2", tree);
  EXPECT_EQ(neighbour.shared, one.shared);
  EXPECT_NE(neighbour.node, one.node);
  EXPECT_NE(place_by_slurm("top.s1.n1", tree).shared, one.shared);
  EXPECT_NE(place_by_slurm("other.s0.n1", tree).shared, one.shared);
  EXPECT_EQ(place_by_slurm("b1.n7.cluster.org", "block.node").shared,
            place_by_slurm("b1.n8.cluster.org", "block.node").shared);
}

TEST(NodePlace, BySlurmIsNotKnownFromOtherTexts) {
  for (const auto& [address, pattern] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"n1", "node"},
                                                        {"top.s0.n1", ""},
                                                        {"s0.n1", tree},
                                                        {"top..n1", tree},
                                                        {".s0.n1", tree},
                                                        {"top.s0.", tree},
                                                        {"top.s0.n1", "switch.node.switch"},
                                                        {"top.s0.n1", ".."}}) {
    EXPECT_EQ(place_by_slurm(address, pattern), NodePlace{}) << address;
  }
}

// Returns the groups' text for nodes with these addresses, "none" if there are none.
std::string groups_of(const std::vector<std::string>& addresses) {
  std::vector<NodePlace> places;
  places.reserve(addresses.size());
  for (const std::string& one : addresses) places.push_back(place_by_slurm(one, "switch.node"));
  const auto groups = groups_of_places(places);
  return groups ? groups->text() : "none";
}

TEST(NodePlace, NodesOfALeafAreAGroup) {
  EXPECT_EQ(groups_of({"s0.a", "s0.b", "s1.c", "s1.d"}), "0*2,1*2");
  EXPECT_EQ(groups_of({"s7.a", "s3.b", "s7.c", "s1.d"}), "0*1,1*1,0*1,2*1");
}

TEST(NodePlace, GroupsThatSayNothingAreNone) {
  EXPECT_EQ(groups_of({}), "none");
  EXPECT_EQ(groups_of({"s0.a", "s0.b"}), "none") << "all nodes";
  EXPECT_EQ(groups_of({"s0.a", "s1.b", "s2.c"}), "none") << "single nodes";
  EXPECT_EQ(groups_of({"s0.a", "s0.b", "c"}), "none") << "one node does not know";
  EXPECT_EQ(groups_of({"s0.a", "s0.a", "s1.c"}), "none") << "passed on by the launcher";
}

TEST(NodePlace, DescribedGroupsAreTakenAsTheyAre) {
  const auto text = [](const std::vector<NodePlace>& nodes) {
    const auto groups = described_groups(nodes);
    return groups ? groups->text() : "none";
  };
  const NodePlace a1 = place_named("n1", "a");
  const NodePlace a2 = place_named("n2", "a");
  const NodePlace b3 = place_named("n3", "b");
  EXPECT_EQ(text({a1, b3, a2}), "0*1,1*1,0*1");
  EXPECT_EQ(text({a1, a2}), "0*2") << "all nodes";
  EXPECT_EQ(text({a1, b3}), "0*1,1*1") << "single nodes";
  EXPECT_EQ(text({a1, a1, b3}), "0*2,1*1") << "two nodes on one host";
  EXPECT_EQ(text({a1, NodePlace{}}), "none");
  EXPECT_EQ(text({}), "none");
}

TEST(NodePlace, ByCrayIsThatOfTheChassis) {
  const NodePlace one = place_by_cray("c1-0c2s15n3");
  EXPECT_NE(one.node, 0U);
  EXPECT_EQ(place_by_cray("c1-0c2s7n0").shared, one.shared);
  EXPECT_NE(place_by_cray("c1-0c2s7n0").node, one.node);
  EXPECT_NE(place_by_cray("c1-0c1s15n3").shared, one.shared);
  EXPECT_NE(place_by_cray("c11-0c2s15n3").shared, one.shared);
  const NodePlace other = place_by_cray("x1000c0s5b1n0");
  EXPECT_EQ(place_by_cray("x1000c0s6b0n1").shared, other.shared);
  EXPECT_NE(place_by_cray("x1000c1s5b1n0").shared, other.shared);
  for (const char* name :
       {"", "n1", "c1", "c1-0", "c1-0c2", "c1-0c2s15", "c1-0c2s15n", "c1-0c2s15n3 ",
        "c1-0c2s15n3n4", "c-0c2s15n3", "x1000c0s5n0", "x1000c0s5b1n0x", "cn1"}) {
    EXPECT_EQ(place_by_cray(name), NodePlace{}) << name;
  }
}

TEST(NodePlace, ByLnetIsBehindTheRoutersThatAreUp) {
  constexpr const char* head = "Routing disabled\nnet  hops priority state router\n";
  const auto behind = [&](const char* host, const std::string& routes) {
    return place_by_lnet(host, head + routes);
  };
  const NodePlace one = behind("n1", "o2ib1 1 0 up 10.0.0.1@tcp\no2ib1 1 0 up 10.0.0.2@tcp\n");
  EXPECT_NE(one.node, 0U);
  EXPECT_EQ(behind("n2", "o2ib1 1 0 up 10.0.0.2@tcp\no2ib1 1 0 up 10.0.0.1@tcp").shared, one.shared)
      << "in another order";
  EXPECT_EQ(behind("n3",
                   "o2ib1 1 0 up 10.0.0.1@tcp\n  o2ib1 1 up 10.0.0.2@tcp\n"
                   "o2ib1 1 0 down 10.0.0.9@tcp\n")
                .shared,
            one.shared)
      << "one is down, and one has no priority";
  EXPECT_NE(behind("n4", "o2ib1 1 0 up 10.0.0.1@tcp\n").shared, one.shared);
  EXPECT_EQ(behind("n1", ""), NodePlace{}) << "servers are reached directly";
  EXPECT_EQ(behind("n1", "o2ib1 1 0 down 10.0.0.1@tcp\n"), NodePlace{});
  for (const char* line : {"o2ib1 up", "o2ib1 1 0 up 10.0.0.1", "o2ib1 1 0 maybe 10.0.0.1@tcp",
                           "o2ib1 1 0 up 10.0.0.1@tcp more", "\x7f"}) {
    EXPECT_EQ(behind("n1", line), NodePlace{}) << line;
  }
}

TEST(NodePlace, TheFirstSourceThatMakesGroupsCounts) {
  const auto place = [](std::uint64_t node, std::uint64_t shared) {
    return NodePlace{node, shared};
  };
  // LNet's routers are the same for all, Slurm knows all nodes but one, and Cray's names say.
  std::vector<NodePlaces> nodes;
  for (std::uint64_t node = 1; node <= 4; ++node) {
    nodes.push_back({NodePlace{}, place(node, 7), NodePlace{},
                     node == 4 ? NodePlace{} : place(node, node % 2), place(node, node / 3)});
  }
  auto found = first_groups(nodes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, PlaceSource::cray);
  EXPECT_EQ(found->groups.text(), "0*2,1*2");
  nodes[3][3] = place(4, 0);
  found = first_groups(nodes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, PlaceSource::slurm);
  EXPECT_EQ(found->groups.text(), "0*1,1*1,0*1,1*1");
  for (std::uint64_t node = 1; node <= 4; ++node) nodes[node - 1][2] = place(node, node / 4);
  found = first_groups(nodes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, PlaceSource::infiniband);
  EXPECT_EQ(found->groups.text(), "0*3,1*1");
  nodes[0][1] = place(1, 8);
  found = first_groups(nodes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, PlaceSource::lnet);
  for (NodePlaces& node : nodes) node[0] = place(9, 9);
  found = first_groups(nodes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, PlaceSource::description);
  EXPECT_EQ(found->groups.text(), "0*4");
  EXPECT_FALSE(first_groups({}));
  EXPECT_FALSE(first_groups(std::vector<NodePlaces>(3)));
}

}  // namespace
}  // namespace weir::topology

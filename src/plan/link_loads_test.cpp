#include "plan/link_loads.hpp"

#include <gtest/gtest.h>

#include <string>

#include "topology/network.hpp"

namespace weir::plan {
namespace {

topology::Topology connected(std::int64_t nodes, const std::string& network) {
  return topology::Topology::filled(nodes, 1)
      .value()
      .with_network(topology::Network::parse(network).value())
      .value();
}

TEST(LinkLoads, AreThoseBetweenSwitches) {
  const auto topology = connected(6, "switches:2");
  LinkLoads loads(topology);
  loads.add(0, 1, 100);
  EXPECT_EQ(loads.largest(), 0) << "the nodes' own links";
  loads.add(0, 2, 10);
  loads.add(1, 4, 5);
  EXPECT_EQ(loads.largest(), 15) << "both go up from switch 0";
  EXPECT_EQ(loads.largest_on(0, 3), 15);
  EXPECT_EQ(loads.largest_on(5, 3), 10) << "down to switch 1";
  EXPECT_EQ(loads.largest_on(2, 1), 0) << "no byte went that way";
  EXPECT_EQ(loads.largest_on(0, 1), 0);
}

TEST(LinkLoads, InALineAreThoseOfEachStepAndDirection) {
  const auto topology = connected(5, "mesh:5");
  LinkLoads loads(topology);
  loads.add(0, 3, 1);
  loads.add(1, 4, 2);
  loads.add(4, 0, 4);
  EXPECT_EQ(loads.largest(), 4);
  EXPECT_EQ(loads.largest_on(0, 1), 1);
  EXPECT_EQ(loads.largest_on(1, 3), 3);
  EXPECT_EQ(loads.largest_on(3, 4), 2);
  EXPECT_EQ(loads.largest_on(1, 0), 4);
}

TEST(LinkLoads, WithoutANetworkAreNone) {
  const auto topology = topology::Topology::filled(4, 1).value();
  LinkLoads loads(topology);
  loads.add(0, 1, 1);
  EXPECT_EQ(loads.largest(), 0);
  EXPECT_EQ(loads.largest_on(0, 1), 0);
}

}  // namespace
}  // namespace weir::plan

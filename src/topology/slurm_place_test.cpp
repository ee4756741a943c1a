#include "topology/slurm_place.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::topology {
namespace {

constexpr const char* tree = "switch.switch.node";

TEST(SlurmPlace, IsThatOfTheNodeAndOfItsSwitches) {
  const SlurmPlace one = slurm_place("top.s0.n1", tree);
  EXPECT_NE(one.node, 0U);
  EXPECT_EQ(one, slurm_place("top.s0.n1", tree));
  const SlurmPlace neighbour = slurm_place("top.s0.n2", tree);
  EXPECT_EQ(neighbour.leaf, one.leaf);
  EXPECT_NE(neighbour.node, one.node);
  EXPECT_NE(slurm_place("top.s1.n1", tree).leaf, one.leaf);
  EXPECT_NE(slurm_place("other.s0.n1", tree).leaf, one.leaf);
  EXPECT_EQ(slurm_place("b1.n7.cluster.org", "block.node").leaf,
            slurm_place("b1.n8.cluster.org", "block.node").leaf);
}

TEST(SlurmPlace, IsNotKnownFromOtherTexts) {
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
    EXPECT_EQ(slurm_place(address, pattern), SlurmPlace{}) << address;
  }
}

// Returns the groups' text for nodes with these addresses, "none" if there are none.
std::string groups_of(const std::vector<std::string>& addresses) {
  std::vector<SlurmPlace> places;
  places.reserve(addresses.size());
  for (const std::string& one : addresses) places.push_back(slurm_place(one, "switch.node"));
  const auto groups = groups_by_leaf(places);
  return groups ? groups->text() : "none";
}

TEST(SlurmPlace, NodesOfALeafAreAGroup) {
  EXPECT_EQ(groups_of({"s0.a", "s0.b", "s1.c", "s1.d"}), "0*2,1*2");
  EXPECT_EQ(groups_of({"s7.a", "s3.b", "s7.c", "s1.d"}), "0*1,1*1,0*1,2*1");
}

TEST(SlurmPlace, GroupsThatSayNothingAreNone) {
  EXPECT_EQ(groups_of({}), "none");
  EXPECT_EQ(groups_of({"s0.a", "s0.b"}), "none") << "all nodes";
  EXPECT_EQ(groups_of({"s0.a", "s1.b", "s2.c"}), "none") << "single nodes";
  EXPECT_EQ(groups_of({"s0.a", "s0.b", "c"}), "none") << "one node does not know";
  EXPECT_EQ(groups_of({"s0.a", "s0.a", "s1.c"}), "none") << "passed on by the launcher";
}

}  // namespace
}  // namespace weir::topology

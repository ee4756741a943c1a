#include "topology/io_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::topology {
namespace {

// Returns the group of each node.
std::vector<std::int64_t> groups_by(const std::string& text, std::int64_t nodes) {
  const auto parsed = IoGroups::parse(text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.error().text();
  if (!parsed) return {};
  const auto topology = Topology::filled(2 * nodes, 2).value();
  const auto divided = parsed.value().divide(topology);
  EXPECT_TRUE(divided.ok()) << text << ": " << divided.error().text();
  if (!divided) return {};
  std::vector<std::int64_t> groups;
  groups.reserve(static_cast<std::size_t>(nodes));
  for (std::int64_t node = 0; node < nodes; ++node) {
    groups.push_back(divided.value().io_group_of_node(node));
  }
  // The text of the groups is taken for the same groups.
  const auto again = IoGroups::parse(parsed.value().text());
  EXPECT_TRUE(again.ok() && again.value().divide(topology).value() == divided.value()) << text;
  return groups;
}

std::string refusal_of(const std::string& text) {
  const auto parsed = IoGroups::parse(text);
  return parsed ? "" : parsed.error().message;
}

using Groups = std::vector<std::int64_t>;

TEST(IoGroups, AreEquallyManyNodesOrAList) {
  EXPECT_EQ(groups_by("", 3), (Groups{0, 0, 0}));
  EXPECT_EQ(groups_by("1", 3), (Groups{0, 1, 2}));
  EXPECT_EQ(groups_by("2", 5), (Groups{0, 0, 1, 1, 2}));
  EXPECT_EQ(groups_by("5", 5), (Groups{0, 0, 0, 0, 0}));
  EXPECT_EQ(groups_by("6", 5), (Groups{0, 0, 0, 0, 0}));
  EXPECT_EQ(groups_by("2147483647", 2), (Groups{0, 0}));
  EXPECT_EQ(groups_by("0,0,1,1", 4), (Groups{0, 0, 1, 1}));
  EXPECT_EQ(groups_by("1,0,1,2,0", 5), (Groups{1, 0, 1, 2, 0}));
  EXPECT_EQ(groups_by("0*2,1*3", 5), (Groups{0, 0, 1, 1, 1}));
  EXPECT_EQ(groups_by("0*2,1,0,1*1", 5), (Groups{0, 0, 1, 0, 1}));
  EXPECT_EQ(groups_by("0*1", 1), (Groups{0}));
}

TEST(IoGroups, HaveOneTextForEqualLists) {
  const auto text = [](const char* given) { return IoGroups::parse(given).value().text(); };
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text("0004"), "4");
  EXPECT_EQ(text("0,0,1,1,2"), "0*2,1*2,2*1");
  EXPECT_EQ(text("0*1,0*1,1*2,2"), "0*2,1*2,2*1");
  EXPECT_EQ(text("1,0,0"), "1*1,0*2");
  EXPECT_NE(text("2"), text("0,0,1,1"));
}

TEST(IoGroups, AreRefusedWithThePartThatIsWrong) {
  const std::vector<std::pair<const char*, const char*>> all = {
      {"0", "not a number of nodes from 1 to 2147483647"},
      {"-1", "not a number of nodes from 1 to"},
      {"+1", "not a number of nodes"},
      {" 1", "not a number of nodes"},
      {"1.5", "not a number of nodes"},
      {"1e9", "not a number of nodes"},
      {"2147483648", "not a number of nodes"},
      {"99999999999999999999", "not a number of nodes"},
      {"nodes", "give a number of nodes for each group, such as 4"},
      {",", "part 1 is empty"},
      {"0,,1", "part 2 is empty"},
      {"0,1,", "part 3 is empty"},
      {"0,x", "the group in part 2 is not a whole number from 0 to 2147483646"},
      {"0,-1", "the group in part 2"},
      {"0,2147483647", "the group in part 2"},
      {"0,99999999999999999999", "the group in part 2"},
      {"*2", "the group in part 1"},
      {"0*", "the number of nodes in part 1 is not a whole number from 1 to 2147483647"},
      {"0*0", "the number of nodes in part 1"},
      {"0*-2", "the number of nodes in part 1"},
      {"0*2*3", "the number of nodes in part 1"},
      {"0*2147483648", "the number of nodes in part 1"},
      {"0*2147483647,1", "parts 1 to 2 have 2147483648 nodes: give at most 2147483647"},
      {"0,2", "there is a group 2 but no group 1: number the groups from 0 on without gaps"},
      {"1,1", "there is a group 1 but no group 0"},
      {"0,1,1000000000", "there is a group 1000000000 but no group 2"},
      {"0,0,0,2,2,0", "there is a group 2 but no group 1"}};
  for (const auto& [text, says] : all) {
    EXPECT_THAT(refusal_of(text), testing::HasSubstr(says)) << text;
    EXPECT_EQ(refusal_of(text).find('\n'), std::string::npos);
  }
  EXPECT_EQ(refusal_of("0*2147483646,1"), "");
}

TEST(IoGroups, AListIsForAsManyNodesAsThereAre) {
  const auto four = Topology::filled(8, 2).value();
  for (const char* const text : {"0,0,1", "0*2,1*3", "0*1", "0,1,0", "1,0,0,0,1"}) {
    const auto divided = IoGroups::parse(text).value().divide(four);
    ASSERT_FALSE(divided.ok()) << text;
    EXPECT_THAT(divided.error().message, testing::HasSubstr("but the ranks are on 4")) << text;
  }
  const auto most = IoGroups::parse("1*2147483646,0").value();
  EXPECT_FALSE(most.divide(four).ok()) << "before a list of as many nodes is made";
}

// A list that says no more than a number of nodes takes no memory for each node.
TEST(IoGroups, OfEquallyManyConsecutiveNodesAreKeptAsTheirNumber) {
  const auto four = Topology::filled(4, 1).value();
  EXPECT_EQ(IoGroups::parse("0*2,1,1").value().divide(four).value(),
            four.with_io_groups(2).value());
}

TEST(IoGroups, AreDescribedByTheirSizes) {
  const auto text = [](const char* groups, std::int64_t nodes) {
    return text_of_io_groups(
        IoGroups::parse(groups).value().divide(Topology::filled(nodes, 1).value()).value());
  };
  EXPECT_EQ(text("2", 4), "2 (of 2 nodes each)");
  EXPECT_EQ(text("1", 3), "3 (of 1 node each)");
  EXPECT_EQ(text("4", 9), "3 (2 of 4 nodes, 1 of 1 node)");
  EXPECT_EQ(text("0,1,1,2,2,2", 6), "3 (1 of 3 nodes, 1 of 2 nodes, 1 of 1 node)");
  EXPECT_EQ(text("0,1*2,2*3,3*4", 10), "4 (of 1 to 4 nodes)");
}

}  // namespace
}  // namespace weir::topology

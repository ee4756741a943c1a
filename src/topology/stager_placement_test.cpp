#include "topology/stager_placement.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::topology {
namespace {

// Returns the place of each rank's stager; a stager has its own.
std::vector<std::int64_t> stagers_by(const std::string& text, std::int64_t ranks) {
  const auto parsed = StagerPlacement::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  if (!parsed) return {};
  EXPECT_EQ(parsed.value().text(), text);
  EXPECT_TRUE(parsed.value().check(ranks).ok()) << text;
  std::vector<std::int64_t> stagers;
  std::int64_t count = 0;
  for (std::int64_t place = 0; place < ranks; ++place) {
    const auto role = parsed.value().role(place, ranks);
    EXPECT_EQ(role.is_stager, role.stager == place) << text << ", place " << place;
    count += role.is_stager ? 1 : 0;
    stagers.push_back(role.stager);
  }
  EXPECT_EQ(count, parsed.value().stagers_of(ranks));
  return stagers;
}

std::string reason_against(const std::string& text, std::int64_t ranks = 0) {
  const auto parsed = StagerPlacement::parse(text);
  if (!parsed) return parsed.error().message;
  const Status checked = parsed.value().check(ranks);
  return checked.ok() ? "" : checked.error().message;
}

using Places = std::vector<std::int64_t>;

TEST(StagerPlacement, HasAWordForEachPlace) {
  EXPECT_FALSE(StagerPlacement::parse("none").value().stages());
  EXPECT_EQ(StagerPlacement::parse("none").value().text(), "none");
  EXPECT_EQ(StagerPlacement::parse("node").value().where(), StagerPlacement::Where::node);
  EXPECT_EQ(StagerPlacement::parse("node").value().text(), "node");
  EXPECT_EQ(StagerPlacement::parse("ranks:1").value().text(), "ranks");
}

TEST(StagerPlacement, TakesTheLastRanksOrOneInSoMany) {
  EXPECT_EQ(stagers_by("ranks", 4), (Places{3, 3, 3, 3}));
  EXPECT_EQ(stagers_by("ranks:2", 6), (Places{4, 4, 5, 5, 4, 5}));
  EXPECT_EQ(stagers_by("ranks:2", 5), (Places{3, 3, 4, 3, 4}));
  EXPECT_EQ(stagers_by("ranks:1/3", 6), (Places{2, 2, 2, 5, 5, 5}));
  EXPECT_EQ(stagers_by("ranks:1/3", 7), (Places{2, 2, 2, 6, 6, 6, 6}));
  EXPECT_EQ(stagers_by("ranks:1/2", 3), (Places{2, 2, 2}));
  EXPECT_EQ(stagers_by("ranks:2", 4), (Places{2, 3, 2, 3}));
}

TEST(StagerPlacement, NeedsAnotherRankForEachStager) {
  EXPECT_NE(
      reason_against("ranks", 1).find("makes 1 rank of each node stagers, and this node has 1"),
      std::string::npos);
  EXPECT_NE(
      reason_against("ranks:3", 5).find("makes 3 ranks of each node stagers, and this node has 5"),
      std::string::npos);
  EXPECT_NE(reason_against("ranks:1/5", 4)
                .find("makes one in 5 ranks of each node stagers, and this "
                      "node has 4"),
            std::string::npos);
}

TEST(StagerPlacement, RefusesOtherTexts) {
  for (const char* const text :
       {"", "Node", "rank", "ranks:", "ranks:0", "ranks:-1", "ranks:1/", "ranks:1/1", "ranks:1/0",
        "ranks:2/8", "ranks:2x", "ranks:99999999999", "node:2", "ranks 2"}) {
    EXPECT_NE(reason_against(text).find("give none, node, ranks"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weir::topology

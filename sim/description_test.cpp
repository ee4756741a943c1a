#include "description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace weir::sim {
namespace {

using ::testing::HasSubstr;

nlohmann::json usual() {
  return {{"nodes", 128},
          {"ranks_per_node", 4},
          {"nodes_per_group", 64},
          {"parts",
           {{{"name", "tree"},
             {"users", "group"},
             {"units", 2},
             {"bytes_per_second", 7e8},
             {"operation_seconds", 1e-4}},
            {{"name", "server"}, {"users", "stripe"}, {"units", 8}, {"bytes_per_second", 1e9}},
            {{"name", "target"}, {"users", "stripe"}, {"units", 4}, {"bytes_per_second", 1e9}}}},
          {"messages", {{"bytes_per_second", 4e8}, {"seconds_each", 1e-6}}},
          {"array", {{"shape", "1m"}, {"type", "uint8"}, {"distribution", "BLOCK"}}},
          {"strategy", "two-phase"}};
}

std::string refusal(const nlohmann::json& given) {
  const auto asked = parse_description(given.dump());
  return asked ? "accepted" : asked.error().message;
}

TEST(Description, HasPartsInTheirOrderAndDefaults) {
  const auto asked = parse_description(usual().dump());
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(asked.value().ranks(), 512);
  ASSERT_EQ(asked.value().parts.size(), 3U);
  EXPECT_TRUE(asked.value().parts[0].in_turn());
  EXPECT_EQ(asked.value().parts[2].name, "target");
  EXPECT_EQ(asked.value().targets(), 8);
  EXPECT_EQ(asked.value().strategy, plan::Strategy::two_phase);
  EXPECT_EQ(asked.value().steps, 1);
  EXPECT_TRUE(asked.value().ahead);
}

TEST(Description, AutomaticLeavesTheStrategyOpen) {
  auto given = usual();
  given["strategy"] = "automatic";
  EXPECT_FALSE(parse_description(given.dump()).value().strategy);
}

TEST(Description, NamesWhatIsWrong) {
  auto given = usual();
  given["parts"][0]["users"] = "everyone";
  EXPECT_THAT(refusal(given), HasSubstr("users 'everyone': give node, group, client or stripe"));
  given = usual();
  given["parts"][1]["bytes_per_second"] = 0;
  EXPECT_THAT(refusal(given), HasSubstr("part server: its rates must be above 0"));
  given = usual();
  given["parts"][1]["operation_seconds"] = 1e-3;
  EXPECT_THAT(refusal(given), HasSubstr("part server: only an I/O group's part"));
  given = usual();
  given["parts"].push_back(given["parts"][0]);
  EXPECT_THAT(refusal(given), HasSubstr("several parts do operations in turn"));
  given = usual();
  given["nodes"] = 1 << 20;
  EXPECT_THAT(refusal(given), HasSubstr("at most 1048576 ranks"));
  given = usual();
  given["steps"] = 0;
  EXPECT_THAT(refusal(given), HasSubstr("0 steps"));
  given = usual();
  given["strategy"] = "glean";
  EXPECT_THAT(refusal(given), HasSubstr("glean"));
  given = usual();
  given.erase("messages");
  EXPECT_THAT(refusal(given), HasSubstr("messages"));
  EXPECT_THAT(parse_description("{").error().message, HasSubstr("the description: "));
}

}  // namespace
}  // namespace weir::sim

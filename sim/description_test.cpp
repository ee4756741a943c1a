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

TEST(Description, RatesOfCopiesDependOnTheBytesOfARank) {
  auto given = usual();
  EXPECT_TRUE(parse_description(given.dump()).value().copies.empty());
  given["copies"] = {
      {{"up_to_bytes", 1000}, {"bytes_per_second", 4e9}, {"one_rank_bytes_per_second", 3e9}},
      {{"bytes_per_second", 2e9}, {"one_rank_bytes_per_second", 1e9}}};
  const auto asked = parse_description(given.dump());
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(asked.value().copies_of(1000).bytes_per_second, 4e9);
  EXPECT_EQ(asked.value().copies_of(1000).one_rank_bytes_per_second, 3e9);
  EXPECT_EQ(asked.value().copies_of(1001).bytes_per_second, 2e9);
  auto wrong = given;
  wrong["copies"][1]["one_rank_bytes_per_second"] = 0;
  EXPECT_THAT(refusal(wrong), HasSubstr("the rates of copies must be above 0"));
  wrong = given;
  wrong["copies"][1]["up_to_bytes"] = 1000;
  EXPECT_THAT(refusal(wrong), HasSubstr("the bytes of rates of copies must grow"));
  wrong["copies"][1]["up_to_bytes"] = 1001;
  EXPECT_THAT(refusal(wrong), HasSubstr("the last rate of copies must have no up_to_bytes"));
  wrong["copies"] = nlohmann::json::array();
  EXPECT_THAT(refusal(wrong), HasSubstr("the last rate of copies must have no up_to_bytes"));
}

TEST(Description, HasANetworkAndSlowUnits) {
  auto given = usual();
  given["parts"][2]["slow"] = {{{"unit", 3}, {"share", 0.25}}};
  given["messages"]["slow"] = {{{"unit", 7}, {"share", 0.5}}};
  given["network"] = {{"shape", "fat-tree:16x8"},
                      {"bytes_per_second", 2e9},
                      {"first_end", 128},
                      {"slow", {{{"link", "switch 3 up 2"}, {"share", 0.1}}}}};
  const auto asked = parse_description(given.dump());
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(speed_of(asked.value().parts[2].slow, 3), 0.25);
  EXPECT_EQ(speed_of(asked.value().parts[2].slow, 2), 1);
  EXPECT_EQ(speed_of(asked.value().messages.slow, 7), 0.5);
  ASSERT_TRUE(asked.value().network);
  EXPECT_EQ(asked.value().network->shape.text(), "fat-tree:16x8");
  EXPECT_EQ(asked.value().network->slow.at("switch 3 up 2"), 0.1);
  EXPECT_EQ(asked.value().ends(), 8);
  given["network"].erase("first_end");
  EXPECT_EQ(parse_description(given.dump()).value().ends(), 0);
}

TEST(Description, NamesWhatIsWrongWithANetworkOrSlowUnits) {
  auto given = usual();
  given["parts"][2]["slow"] = {{{"unit", 4}, {"share", 0.25}}};
  EXPECT_THAT(refusal(given), HasSubstr("part target: unit 4 is to be slow: give 0 to 3"));
  given = usual();
  given["messages"]["slow"] = {{{"unit", 7}, {"share", 0}}};
  EXPECT_THAT(refusal(given), HasSubstr("nodes: unit 7 has a share of its speed of 0"));
  const nlohmann::json network = {
      {"shape", "dragonfly:8x4x2x4"}, {"bytes_per_second", 2e9}, {"first_end", 128}};
  given = usual();
  given["network"] = network;
  EXPECT_THAT(refusal(given), HasSubstr("has 128 places, but the ranks are on 136 nodes"));
  given["network"]["shape"] = "dragonfly:8x4";
  EXPECT_THAT(refusal(given), HasSubstr("the network's shape: a dragonfly is not"));
  given["network"] = network;
  given["network"]["first_end"] = 64;
  EXPECT_THAT(refusal(given), HasSubstr("is at node 64 of the network, among the 128 nodes"));
  given["network"] = network;
  given["messages"]["bytes_per_second"] = 0;
  EXPECT_THAT(refusal(given), HasSubstr("the network needs the rate of messages"));
}

TEST(Description, AutomaticLeavesTheStrategyOpen) {
  auto given = usual();
  given["strategy"] = "automatic";
  EXPECT_FALSE(parse_description(given.dump()).value().strategy);
}

TEST(Description, HasAWorkloadOfWeirBench) {
  auto given = usual();
  EXPECT_EQ(parse_description(given.dump()).value().workload, Workload::library);
  given["workload"] = "array";
  given["posix_calls"] = true;
  given["read"] = true;
  const auto asked = parse_description(given.dump()).value();
  EXPECT_EQ(asked.workload, Workload::array);
  EXPECT_TRUE(asked.posix_calls);
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
  EXPECT_THAT(refusal(given), HasSubstr("part server: only a part of nodes or I/O groups"));
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
  given["workload"] = "madbench";
  EXPECT_THAT(refusal(given), HasSubstr("workload 'madbench': give library, array or sink"));
  given["workload"] = "sink";
  given["read"] = true;
  EXPECT_THAT(refusal(given), HasSubstr("the workload sink reads nothing"));
  given = usual();
  given["posix_calls"] = true;
  EXPECT_THAT(refusal(given), HasSubstr("the workload library makes no POSIX calls"));
  given = usual();
  given.erase("messages");
  EXPECT_THAT(refusal(given), HasSubstr("messages"));
  EXPECT_THAT(parse_description("{").error().message, HasSubstr("the description: "));
}

}  // namespace
}  // namespace weir::sim

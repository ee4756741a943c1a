#include "plan/platform_description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace weir::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

// The parts of a probed description that count here, a figure with its interval among them.
constexpr const char* probed = R"(
format = "weir-platform"
format_version = 1
name = "cluster"
measured_utc = "2026-11-21T10:00:00Z"
memory_available_bytes = 10000000000
[topology.hardware.processor]
cores = 12
[[targets]]
directory = "/scratch"
[targets.layout]
reach = "network"
block_bytes = 4194304
[targets.layout.layout]
stripe_bytes = 1048576
stripe_count = 4
[[stages]]
name = "memory copy"
kind = "node"
routes = ["memory"]
units = 1
one_user_bytes_per_second = 8e9
[stages.rate_bytes_per_second]
value = 40e9
low = 30e9
high = 50e9
[[stages]]
name = "page cache write"
kind = "node"
direction = "write"
routes = ["cached", "durable"]
units = 1
rate_bytes_per_second = 3e9
turn_seconds = 9e-6
[[stages]]
name = "page cache read"
kind = "node"
direction = "read"
routes = ["cached"]
units = 1
rate_bytes_per_second = 5e9
[[stages]]
name = "storage write"
kind = "target"
direction = "write"
routes = ["durable"]
units = 4
rate_bytes_per_second = 250e6
[[stages]]
name = "storage write, direct"
kind = "target"
direction = "write"
routes = ["direct"]
units = 4
fixed_seconds = 80e-6
one_user_bytes_per_second = 300e6
rate_bytes_per_second = 350e6
[[stages]]
name = "node link"
kind = "node link"
routes = ["network"]
units = 8
rate_bytes_per_second = 12e9
[latencies_seconds]
call = 2e-6
message = 1.5e-6
)";

PlatformDescription parsed(const std::string& text) {
  return parse_platform_description(text, "p.toml").value();
}

std::string refusal(const std::string& text) {
  const auto parsed = parse_platform_description(text, "p.toml");
  return parsed.ok() ? "taken" : parsed.error().text();
}

TEST(PlatformDescription, GivesRatesAndTargets) {
  const auto [rates, targets, nodes_per_io_group, network] = parsed(probed);
  EXPECT_EQ(nodes_per_io_group, 0);
  EXPECT_FALSE(network.has_value());
  EXPECT_EQ(rates.core_copy_bytes_per_second, 8e9);
  EXPECT_EQ(rates.node_copy_bytes_per_second, 40e9);
  EXPECT_EQ(rates.cores_per_node, 12);
  EXPECT_EQ(rates.write.node_bytes_per_second, 3e9);
  EXPECT_EQ(rates.write.call_seconds, 9e-6);
  EXPECT_EQ(rates.write.storage_bytes_per_second, 4 * 250e6);
  EXPECT_EQ(rates.direct_write, (FileRates{80e-6, 300e6, 4 * 350e6, false, 4 * 350e6}));
  EXPECT_EQ(rates.direct_read.storage_bytes_per_second, 0);
  EXPECT_EQ(rates.read.core_bytes_per_second, 5e9);
  EXPECT_EQ(rates.read.call_seconds, 2e-6);
  EXPECT_EQ(rates.read.storage_bytes_per_second, 0);
  EXPECT_EQ(rates.cached_bytes, 2e9);
  EXPECT_EQ(rates.link_bytes_per_second, 12e9);
  EXPECT_EQ(rates.message_seconds, 1.5e-6);
  EXPECT_EQ(targets, (topology::FileTargets{4, 1 << 20, 4 << 20}));
}

TEST(PlatformDescription, SaysWhatIsEstimated) {
  EXPECT_EQ(parsed(probed).rates.origin,
            "platform cluster (p.toml, measured 2026-11-21T10:00:00Z); estimated: copying short "
            "runs");
  const PlatformRates little = parsed("format = 'weir-platform'\nformat_version = 1").rates;
  EXPECT_THAT(little.origin, HasSubstr("estimated: memory copy, copying short runs, page cache "
                                       "write, write call, page cache read, read call, node link, "
                                       "message"));
  EXPECT_EQ(little.write, PlatformRates().write);
}

TEST(PlatformDescription, WritersOfASharedFileAreProbedTogetherAndAlone) {
  const std::string text = probed;
  const auto alike = parsed(text + "shared_write = 8e-6\nshared_write_alone = 9e-6\n").rates;
  EXPECT_EQ(alike.write.call_seconds, 8e-6);
  EXPECT_TRUE(alike.write.one_at_a_time);
  const auto faster = parsed(text + "shared_write = 2e-6\nshared_write_alone = 9e-6\n").rates;
  EXPECT_FALSE(faster.write.one_at_a_time);
}

TEST(PlatformDescription, DirectoriesThatDifferAreNotAddedUp) {
  const auto rates = parsed(R"(
format = "weir-platform"
format_version = 1
[[stages]]
kind = "target"
direction = "write"
routes = ["durable"]
units = 2
rate_bytes_per_second = 100e6
different_units = [{name = "/a"}, {name = "/b"}]
)")
                         .rates;
  EXPECT_EQ(rates.write.storage_bytes_per_second, 100e6);
}

TEST(PlatformDescription, RefusesAnythingElseWithOneLine) {
  const std::string head = "format = 'weir-platform'\nformat_version = 1\n";
  const auto stage = [&head](const std::string& figures) {
    return head + "[[stages]]\nkind = 'node'\nroutes = ['memory']\n" + figures;
  };
  const std::string deep(100'000, '[');
  for (const std::string& text :
       {std::string(),
        std::string("\0\1\2", 3),
        std::string("format = "),
        "a = " + deep,
        deep,
        std::string("{\"format\": \"weir-platform\"}"),
        std::string("format = 'other'"),
        std::string("format = 'weir-platform'\nformat_version = 2"),
        std::string("format = 7\nformat_version = 1"),
        std::string(most_description_bytes + 1, ' ') + head,
        stage(""),
        stage("rate_bytes_per_second = 0"),
        stage("rate_bytes_per_second = -1e9"),
        stage("rate_bytes_per_second = nan"),
        stage("rate_bytes_per_second = inf"),
        stage("rate_bytes_per_second = 1e300"),
        stage("rate_bytes_per_second = 'fast'"),
        stage("rate_bytes_per_second = {low = 1}"),
        stage("rate_bytes_per_second = 1e9\none_user_bytes_per_second = []"),
        head + "[latencies_seconds]\nmessage = -1",
        head + "[topology.hardware.processor]\ncores = 0",
        head + "[[targets]]\n[targets.layout.layout]\nstripe_bytes = -5"}) {
    const std::string told = refusal(text);
    EXPECT_THAT(told, HasSubstr("p.toml")) << told;
    EXPECT_THAT(told, Not(HasSubstr("\n")));
  }
  EXPECT_THAT(refusal(stage("rate_bytes_per_second = -3")),
              HasSubstr("stages[0].rate_bytes_per_second is -3: give 1 to 1e+18"));
  // Other types in places that are not looked at, or that a probe may not know, do no harm.
  EXPECT_TRUE(parse_platform_description(head + "stages = 3\ntargets = {a = 1}\n"
                                                "topology = 'unknown'\nlatencies_seconds = []",
                                         "p.toml")
                  .ok());
}

TEST(PlatformDescription, HasTheNodesOfAnIoGroup) {
  const std::string header = "format = 'weir-platform'\nformat_version = 1\n";
  const auto nodes = [&header](const std::string& text) {
    const auto parsed = parse_platform_description(header + text, "p.toml");
    EXPECT_TRUE(parsed.ok()) << text;
    return parsed ? parsed.value().nodes_per_io_group : -1;
  };
  EXPECT_EQ(nodes(""), 0);
  EXPECT_EQ(nodes("nodes_per_io_group = 1\n"), 1);
  EXPECT_EQ(nodes("nodes_per_io_group = 2147483647\n"), 2147483647);
  const std::string name = "nodes_per_io_group";
  EXPECT_THAT(refusal(header + name + " = 0\n"), HasSubstr(name + " is 0: give 1 to 2147483647"));
  EXPECT_THAT(refusal(header + name + " = -1\n"), HasSubstr(name + " is -1"));
  EXPECT_THAT(refusal(header + name + " = 2147483648\n"), HasSubstr(name + " is 2147483648"));
  EXPECT_THAT(refusal(header + name + " = \"0,1\"\n"), HasSubstr(name + " is not a whole number"));
}

TEST(PlatformDescription, HasTheShapeOfTheNetwork) {
  const std::string head = "format = 'weir-platform'\nformat_version = 1\n";
  EXPECT_EQ(parsed(head + "network_shape = '8x8x16'\n").network->text(), "8x8x16");
  EXPECT_EQ(parsed(head + "network_shape = 'switches:16'\n").network->text(), "switches:16");
  EXPECT_THAT(refusal(head + "network_shape = '8x'\n"),
              HasSubstr("network_shape does not describe a network: extent 2 is not"));
  EXPECT_THAT(refusal(head + "network_shape = 8\n"), HasSubstr("network_shape does not"));
}

TEST(PlatformDescription, HasTheRateOfLinksBetweenSwitches) {
  const std::string head =
      "format = 'weir-platform'\nformat_version = 1\n[simulation]\nnetwork_links = 'leaf -> "
      "spine'\n";
  const std::string edge =
      "[[edges]]\nfrom = 'node'\nto = 'leaf'\nrate_bytes_per_second = 1e9\n"
      "[[edges]]\nfrom = 'leaf'\nto = 'spine'\n";
  const auto hop_rate = [](const std::string& text) {
    return parsed(text).rates.hop_bytes_per_second;
  };
  EXPECT_EQ(hop_rate(head + edge + "rate_bytes_per_second = {value = 25e9}\n"), 25e9);
  EXPECT_EQ(hop_rate(head + edge), 0) << "its rate is not known";
  EXPECT_EQ(hop_rate(head), 0) << "there is no such edge";
  EXPECT_EQ(hop_rate("format = 'weir-platform'\nformat_version = 1\n" + edge), 0);
  EXPECT_EQ(hop_rate(head + edge +
                     "stages = ['torus']\n[[stages]]\nname = 'torus'\nkind = 'fabric'\n"
                     "rate_bytes_per_second = 425e6\n"),
            425e6);
  EXPECT_THAT(refusal(head + edge + "rate_bytes_per_second = -1\n"),
              HasSubstr("edges[1].rate_bytes_per_second is -1: give 1 to"));
}

TEST(PlatformDescription, IsTakenAtEachLimitAndRefusedBeyond) {
  const std::string head = "format = 'weir-platform'\nformat_version = 1\n";
  const std::string whole = head + std::string(most_description_bytes - head.size(), '\n');
  EXPECT_EQ(refusal(whole), "taken");
  EXPECT_THAT(refusal(whole + '\n'), HasSubstr("is too long"));
  const auto copying_at = [&](const std::string& rate) {
    return head + "[[stages]]\nname = 'memory copy'\nkind = 'node'\nroutes = ['memory']\n" +
           "rate_bytes_per_second = " + rate;
  };
  EXPECT_EQ(parsed(copying_at("1e18")).rates.node_copy_bytes_per_second, 1e18);
  EXPECT_THAT(refusal(copying_at("1000000000000000128.0")), HasSubstr("give 1 to 1e+18"));
  const auto striped = [&](const std::string& figure) {
    return head + "[[targets]]\n[targets.layout]\nreach = 'network'\n[targets.layout.layout]\n" +
           figure;
  };
  EXPECT_EQ(parsed(striped("stripe_bytes = 1099511627776")).targets.stripe_bytes,
            std::int64_t{1} << 40);
  EXPECT_THAT(refusal(striped("stripe_bytes = 1099511627777")), HasSubstr("stripe_bytes"));
  EXPECT_EQ(parsed(striped("stripe_count = 1048576")).targets.count, 1 << 20);
  EXPECT_THAT(refusal(striped("stripe_count = 1048577")), HasSubstr("stripe_count"));
  const std::string locked = head + "[[targets]]\n[targets.layout]\nreach = 'network'\n";
  EXPECT_EQ(parsed(locked + "block_bytes = 1099511627776").targets.lock_bytes,
            std::int64_t{1} << 40);
  EXPECT_THAT(refusal(locked + "block_bytes = 1099511627777"), HasSubstr("block_bytes"));
}

TEST(PlatformDescription, NamesTheHostsOfItsIoGroups) {
  const std::string head = "format = 'weir-platform'\nformat_version = 1\n";
  const auto refused = [&](const std::string& text) {
    const auto groups = parse_described_groups(head + text, "p.toml");
    return groups ? "taken" : groups.error().text();
  };
  const auto groups = parse_described_groups(
      head + "[topology.network]\nsource = 'Slurm'\n[topology.network.groups]\n" +
          "leaf1 = 'n[1-4]'\n'leaf 2' = 'n[5-8],m1'\n",
      "p.toml");
  ASSERT_TRUE(groups.ok()) << groups.error().text();
  EXPECT_EQ(groups.value().place_of("n5").value().shared,
            groups.value().place_of("m1").value().shared);
  EXPECT_NE(groups.value().place_of("n1").value().shared,
            groups.value().place_of("m1").value().shared);
  for (const char* none : {"", "topology = 3", "[topology.network]\ngroups = {}",
                           "[topology.network]\ngroups = 'n1'"}) {
    EXPECT_THAT(refused(none), HasSubstr("has no topology.network.groups")) << none;
  }
  EXPECT_THAT(refused("[topology.network.groups]\na = ['n1']"),
              HasSubstr("topology.network.groups: the hosts of group 'a' are not a text"));
  EXPECT_THAT(refused("[topology.network.groups]\n\"a\\nb\" = 'n['"),
              HasSubstr("the name of group 'a b' is too long or has control characters"));
  EXPECT_EQ(refused("[topology.network.groups]\n" + std::string(200, 'a') + " = 'n1'"), "taken");
  EXPECT_THAT(refused("[topology.network.groups]\n" + std::string(201, 'a') + " = 'n1'"),
              HasSubstr("is too long or has control characters"));
  EXPECT_THAT(refused("[topology.network.groups]\na = 'n['"),
              HasSubstr("topology.network.groups: the hosts of group 'a' are not a list"));
  EXPECT_THAT(refused("a ="), HasSubstr("line 3 is not TOML"));
  EXPECT_THAT(parse_described_groups("[topology]", "p.toml").error().text(),
              HasSubstr("is not a platform description"));
  std::string longest = head + "[topology.network.groups]\na = 'n1'\n#";
  longest.resize(most_description_bytes, 'x');
  EXPECT_TRUE(parse_described_groups(longest, "p.toml").ok());
  EXPECT_THAT(parse_described_groups(longest + "x", "p.toml").error().text(),
              HasSubstr("is too long for a platform description"));
}

}  // namespace
}  // namespace weir::plan

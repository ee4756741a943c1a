#include "workloads/sink/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace weir::bench::sink {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::optional<std::string> no_variables(const std::string& /*name*/) { return std::nullopt; }

struct Made {
  Options options;
  std::vector<Variant> variants;
};

Result<Made> made_from(const std::vector<std::string>& arguments, std::int64_t ranks = 4) {
  const auto resolved = resolve_settings("test", "", declarations(), arguments, no_variables);
  if (!resolved) return resolved.error();
  const Settings& settings = resolved.value().settings;
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto variants = variants_of(settings);
  if (!variants) return variants.error();
  Made made{options_of(settings), std::move(variants).value()};
  Status fits = check_combination(made.options, core.value(), made.variants, ranks);
  if (!fits) return fits.error();
  return made;
}

std::vector<std::string> slugs_from(const std::vector<std::string>& arguments) {
  const auto made = made_from(arguments);
  EXPECT_TRUE(made) << made.error().message;
  std::vector<std::string> slugs;
  if (!made) return slugs;
  for (const Variant& one : made.value().variants) slugs.push_back(one.slug());
  return slugs;
}

TEST(SinkParameters, TheDefaultIsTheRangeOfThePaper) {
  const auto slugs = slugs_from({});
  ASSERT_EQ(slugs.size(), 12U);
  EXPECT_EQ(slugs.front(), "weir-2048");
  EXPECT_EQ(slugs.back(), "weir-4194304");
}

TEST(SinkParameters, AnInterfaceTakesPartOnceInWhatItDoesNotHave) {
  EXPECT_THAT(slugs_from({"-a", "weir,mpiio,posix", "--staging", "none,node", "--aggregators",
                          "0,2", "-m", "64k"}),
              ElementsAre("weir-65536", "weir-a2-65536", "weir-staged-65536",
                          "weir-staged-a2-65536", "mpiio-65536", "mpiio-a2-65536", "posix-65536"));
}

TEST(SinkParameters, LabelsNameRouteAndSize) {
  const auto made =
      made_from({"-a", "weir", "--staging", "node", "--aggregators", "2", "-m", "1000,2k,3m"});
  ASSERT_TRUE(made) << made.error().message;
  const auto& variants = made.value().variants;
  EXPECT_EQ(variants[0].label(), "weir staged 2 aggregators 1000 B");
  EXPECT_EQ(variants[1].label(), "weir staged 2 aggregators 2 KiB");
  EXPECT_EQ(variants[2].label(), "weir staged 2 aggregators 3 MiB");
}

TEST(SinkParameters, LargeMessagesAreSentFewerTimes) {
  const auto made = made_from({"-i", "1000", "--rank-bytes", "1m", "-m", "1k,1025,4k,2m"});
  ASSERT_TRUE(made) << made.error().message;
  const auto& [options, variants] = made.value();
  EXPECT_EQ(options.messages(variants[0]), 1000);
  EXPECT_EQ(options.messages(variants[1]), 1000);
  EXPECT_EQ(options.messages(variants[2]), 256);
  EXPECT_EQ(options.messages(variants[3]), 1);
  const auto all = made_from({"--rank-bytes", "0", "-m", "1g"});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all.value().options.messages(all.value().variants[0]), 1000);
}

TEST(SinkParameters, LimitsHoldAtTheLimitAndFailPastIt) {
  EXPECT_TRUE(made_from({"-m", "1,1g", "-i", "1"}));
  EXPECT_TRUE(made_from({"-m", "1", "-i", "10000000", "--aggregators", "4096"}));
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"-m", "0"},
                                             {"-m", "1073741825"},
                                             {"-i", "0"},
                                             {"-i", "10000001"},
                                             {"--aggregators", "4097"}}) {
    EXPECT_FALSE(made_from(wrong)) << wrong.back();
  }
  // 2^30 bytes, 10^7 times: on 858 ranks just below 2^63 bytes.
  const std::vector<std::string> most{"-m", "1g", "-i", "10000000", "--rank-bytes", "0"};
  EXPECT_TRUE(made_from(most, 858));
  const auto beyond = made_from(most, 859);
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message, HasSubstr("more than 2^63 bytes"));
}

struct Refusal {
  std::vector<std::string> arguments;
  std::string says;
};

class SinkRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(SinkRefusals, NameTheOption) {
  const auto made = made_from(GetParam().arguments);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, SinkRefusals,
    testing::Values(Refusal{{"-a", "posix", "--strategy", "two-phase"}, "--strategy applies only"},
                    Refusal{{"-a", "mpiio", "--io-groups", "1"}, "--io-groups applies only"},
                    Refusal{{"-a", "weir", "-U", "hints"}, "--hints applies only to mpiio"},
                    Refusal{{"-a", "posix", "--aggregators", "2"}, "--aggregators: posix has none"},
                    Refusal{{"-a", "mpiio", "--staging", "node"}, "--staging: only weir"},
                    Refusal{{"--staging", "node", "--into", "file"}, "--into file does not apply"},
                    Refusal{{"-m", "2k,2048"}, "'weir 2 KiB' is given twice"},
                    Refusal{{"-a", "hdf5"}, "is not a list of weir, posix, mpiio"},
                    Refusal{{"--sync", "fsync"}, "--sync: "}, Refusal{{"--direct"}, "--direct: "},
                    Refusal{{"--drop-cache"}, "--drop-cache: "},
                    Refusal{{"--rank-shift", "1"}, "--rank-shift: "}));

TEST(SinkMessages, OfAllRanksFollowEachOther) {
  for (const std::int64_t rank : {0, 2}) {
    const auto part = message_of(1000, 3, rank);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part.value().asked_bytes(), 1000);
    const auto runs = part.value().runs();
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].to_offset, rank * 1000);
    EXPECT_EQ(runs[0].bytes, 1000);
  }
}

TEST(SinkParameters, AServiceHasStagersWithReceivers) {
  EXPECT_THAT(slugs_from({"-a", "weir,posix", "--staging", "none,node,service", "--stagers", "1,2",
                          "--receivers", "1,4", "-m", "64k"}),
              ElementsAre("weir-65536", "weir-staged-65536", "weir-s1-r1-65536", "weir-s1-r4-65536",
                          "weir-s2-r1-65536", "weir-s2-r4-65536", "posix-65536"));
  const auto made = made_from({"--staging", "service", "--stagers", "2", "--receivers", "1"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made.value().variants[0].label(), "weir 2 stagers 1 receiver 2 KiB");
}

TEST(SinkParameters, StagersAndReceiversAreThoseOfAService) {
  for (const char* option : {"--stagers", "--receivers"}) {
    const auto made = made_from({"--staging", "node", option, "2"});
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("add service to --staging"));
  }
  EXPECT_FALSE(made_from({"--staging", "service", "--stagers", "65"}));
  EXPECT_TRUE(made_from({"--staging", "service", "--stagers", "64", "--receivers", "64"}));
  EXPECT_FALSE(made_from({"--staging", "service", "--receivers", "65"}));
}

}  // namespace
}  // namespace weir::bench::sink

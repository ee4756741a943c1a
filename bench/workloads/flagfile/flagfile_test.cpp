// The parts of the workload flagfile that need no ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workloads/flagfile/parameters.hpp"

namespace weir::bench::flagfile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Made {
  Options options;
  std::vector<std::int64_t> pollers;
};

Result<Made> made(const std::vector<std::string>& arguments, std::int64_t ranks) {
  const auto resolved = resolve_settings("test", "", declarations(), arguments,
                                         [](const std::string&) { return std::nullopt; });
  if (!resolved) return resolved.error();
  const auto options = options_of(resolved.value().settings, ranks);
  if (!options) return options.error();
  const auto variants = variants_of(resolved.value().settings, options.value(), ranks);
  if (!variants) return variants.error();
  Made both{.options = options.value(), .pollers = {}};
  for (const Variant& one : variants.value()) both.pollers.push_back(one.pollers);
  return both;
}

TEST(FlagfileParameters, HalfTheRanksPollAtMost) {
  const auto eight = made({}, 8);
  ASSERT_TRUE(eight.ok());
  EXPECT_EQ(eight.value().options.others, 4);
  EXPECT_THAT(eight.value().pollers, ElementsAre(0, 1, 2, 4));
  const auto two = made({}, 2);
  ASSERT_TRUE(two.ok());
  EXPECT_THAT(two.value().pollers, ElementsAre(0, 1));
}

TEST(FlagfileParameters, TakesNumbersOfPollers) {
  const auto some = made({"--others=2", "--pollers=0,5", "--poll=read", "--interval=0.01"}, 8);
  ASSERT_TRUE(some.ok());
  EXPECT_THAT(some.value().pollers, ElementsAre(0, 5));
  EXPECT_TRUE(some.value().options.by_reading);
}

TEST(FlagfileParameters, RefusesWhatCannotBe) {
  EXPECT_THAT(made({}, 1).error().message, HasSubstr("at least 2 ranks"));
  EXPECT_THAT(made({"--others=4"}, 4).error().message, HasSubstr("--others"));
  EXPECT_THAT(made({"--pollers=3"}, 4).error().message, HasSubstr("2 can poll"));
  EXPECT_THAT(made({"--pollers=1,1"}, 4).error().message, HasSubstr("twice"));
  EXPECT_THAT(made({"--seconds=0"}, 4).error().message, HasSubstr("--seconds"));
  EXPECT_THAT(made({"--files=0"}, 4).error().message, HasSubstr("--files"));
}

}  // namespace
}  // namespace weir::bench::flagfile

#include "measurement/striping_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace weir::bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using GivenWords = std::vector<std::string>;

Result<storage::Striping> read(const GivenWords& words) {
  const std::vector<Setting> declarations = declarations_of(striping_table());
  const auto resolved = resolve_settings("test", "", declarations, words,
                                         [](const std::string&) { return std::nullopt; });
  if (!resolved) return resolved.error();
  return striping_of(resolved.value().settings);
}

std::string refusal(const GivenWords& words) {
  const auto striping = read(words);
  return striping ? "" : striping.error().text();
}

TEST(StripingSettings, AreReadAndWrittenAlike) {
  const auto none = read({});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none.value().empty());
  EXPECT_THAT(striping_arguments(none.value()), IsEmpty());

  const auto all = read(
      {"--stripe-count", "8", "--stripe-size", "4m", "--first-target", "0", "--pool", "flash"});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(
      all.value(),
      (storage::Striping{.count = 8, .stripe_bytes = 4 << 20, .first_target = 1, .pool = "flash"}));
  const GivenWords written = striping_arguments(all.value());
  EXPECT_THAT(written, ElementsAre("--stripe-count", "8", "--stripe-size", "4194304",
                                   "--first-target", "0", "--pool", "flash"));
  EXPECT_EQ(read(written).value(), all.value());

  const auto every = read({"--stripe-count", "all"});
  ASSERT_TRUE(every.ok());
  EXPECT_EQ(every.value().count, storage::Striping::all_targets);
  EXPECT_EQ(read(striping_arguments(every.value())).value(), every.value());
}

TEST(StripingSettings, WhatCannotBeIsRefusedByItsName) {
  for (const char* const count : {"0", "-1", "two", "8x", "", "99999999999999999999"}) {
    EXPECT_THAT(refusal({std::string("--stripe-count=") + count}), HasSubstr("--stripe-count"))
        << count;
  }
  EXPECT_THAT(refusal({"--stripe-count", "1048577"}), HasSubstr("--stripe-count 1048577"));
  EXPECT_EQ(refusal({"--stripe-count", "1048576"}), "");
  EXPECT_THAT(refusal({"--stripe-size", "0"}), HasSubstr("--stripe-size"));
  EXPECT_THAT(refusal({"--stripe-size", "65535"}), HasSubstr("--stripe-size 65535"));
  EXPECT_EQ(refusal({"--stripe-size", "64k"}), "");
  EXPECT_THAT(refusal({"--pool", "a b"}), HasSubstr("--pool a b"));
  EXPECT_THAT(refusal({"--first-target", std::to_string(std::numeric_limits<std::int64_t>::max())}),
              HasSubstr("--first-target"));
}

TEST(StripingSettings, AFileSystemWithoutLayoutsIsNamed) {
  EXPECT_TRUE(check_striping("/proc", {}).ok());
  const Status refused = check_striping("/proc", {.count = 8});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), AllOf(HasSubstr("--stripe-count 8: on proc "),
                                            HasSubstr("--directory"), Not(HasSubstr("\n"))));
  EXPECT_TRUE(refuse_striping({}, "-o").ok());
  EXPECT_FALSE(refuse_striping({.count = 8}, "-o").ok());
}

}  // namespace
}  // namespace weir::bench

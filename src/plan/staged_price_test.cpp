#include "plan/staged_price.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/choice.hpp"
#include "plan/test_machines.hpp"

namespace weir::plan {
namespace {

constexpr std::int64_t staged_numbers = 32 << 20;
constexpr double staged_bytes = 8.0 * staged_numbers;

StagedPrice staged_price_for(const Stagers& stagers, const topology::Topology& topology,
                             const PlatformRates& rates = {}) {
  Overrides overrides;
  overrides.stagers = stagers;
  const auto choice =
      choose(stretches_of(staged_numbers, topology.ranks()), topology, {}, rates, overrides);
  return choice.value().staged.value();
}

TEST(StagedPrice, StagersOfTheNodesTakeCopiesAndNoLinks) {
  const auto two_nodes = topology::Topology::filled(4, 2).value();
  const PlatformRates rates;
  const StagedPrice price = staged_price_for({.count = 2}, two_nodes);
  // Two ranks of each node copy at the node's rate; each has one stretch.
  EXPECT_NEAR(price.copy_seconds, staged_bytes / 2 / rates.node_copy_bytes_per_second, 1e-3);
  EXPECT_EQ(price.link_seconds, 0);
  EXPECT_EQ(price.blocked_seconds(), price.copy_seconds);
  // One thread of each stager stores them.
  EXPECT_NEAR(price.store_seconds, staged_bytes / 2 / rates.write.core_bytes_per_second, 2e-3);
  EXPECT_DOUBLE_EQ(price.until_stored_seconds(), price.copy_seconds + price.store_seconds);
}

TEST(StagedPrice, TheSlowerOfLinksAtBothEndsBlocks) {
  const auto four_nodes = topology::Topology::filled(8, 2).value();
  PlatformRates rates;
  rates.link_bytes_per_second = 1e9;
  const auto links = [&](std::int64_t stagers) {
    return staged_price_for({.count = stagers, .on_other_nodes = true}, four_nodes, rates)
        .link_seconds;
  };
  EXPECT_NEAR(links(1), staged_bytes / 1e9, 1e-9);
  EXPECT_NEAR(links(2), staged_bytes / 2e9, 1e-9);
  EXPECT_NEAR(links(4), staged_bytes / 4e9, 1e-9);
  EXPECT_NEAR(links(5), staged_bytes / 4e9, 1e-9) << "the ranks' own links are the limit";
  const StagedPrice price =
      staged_price_for({.count = 1, .on_other_nodes = true}, four_nodes, rates);
  EXPECT_EQ(price.blocked_seconds(), price.link_seconds);
}

TEST(StagedPrice, WhatMemoryDoesNotTakeIsStoredAtTheStoragesRate) {
  const auto one_node = topology::Topology::single_node(2).value();
  PlatformRates rates;
  rates.write.storage_bytes_per_second = 100e6;
  rates.cached_bytes = staged_bytes / 2;
  const StagedPrice price = staged_price_for({.count = 1}, one_node, rates);
  EXPECT_NEAR(price.store_seconds, staged_bytes / 2 / 100e6, 1e-6);
  // Without stagers the ranks wait for the storage, too.
  EXPECT_GE(price.unstaged_seconds, price.store_seconds * 0.999);
  EXPECT_TRUE(price.may_be_worth_it());
}

TEST(StagedPrice, IsWorthItFromSoMuchComputingOn) {
  StagedPrice price{.copy_seconds = 1, .store_seconds = 5, .unstaged_seconds = 3};
  EXPECT_TRUE(price.may_be_worth_it());
  EXPECT_DOUBLE_EQ(price.least_computing_seconds(), 2);
  EXPECT_THAT(text_of(price, "node"),
              testing::EndsWith("the ranks' own write takes 3 s (node), so staging is worth it if "
                                "they compute for 2 s between two writes"));
  price.store_seconds = 3;
  EXPECT_EQ(price.least_computing_seconds(), 0);
  EXPECT_THAT(text_of(price, "node"), testing::EndsWith("so staging is worth it"));
  price.link_seconds = 3;  // blocks for as long as writing takes
  EXPECT_FALSE(price.may_be_worth_it());
  EXPECT_THAT(text_of(price, "node"),
              testing::HasSubstr("blocked for 3 s (copies 1 s, links 3 s)"));
  EXPECT_THAT(text_of(price, "node"), testing::EndsWith("so staging is not worth it here"));
}

TEST(StagedPrice, IsTheUnstagedPriceOfTheCheapestStrategy) {
  const auto one_node = topology::Topology::single_node(2).value();
  Overrides overrides;
  overrides.stagers = Stagers{.count = 1};
  overrides.strategy = Strategy::direct;
  const auto choice = choose(stretches_of(staged_numbers, 2), one_node, {}, {}, overrides).value();
  EXPECT_EQ(choice.staged->unstaged_seconds, choice.prices.front().seconds);
  EXPECT_THAT(choice.explain(), testing::HasSubstr("\nstaging: with a stager, the ranks are "));
  EXPECT_THAT(choice.explain(), testing::HasSubstr("because a stager merges what ranks hand over"));
  // The comparison for a session without stagers.
  overrides.stagers->exist = false;
  const auto compared =
      choose(stretches_of(staged_numbers, 2), one_node, {}, {}, overrides).value();
  EXPECT_THAT(compared.explain(), testing::HasSubstr("with a stager (WEIR_STAGING=node), the "));
  EXPECT_THAT(compared.explain(), testing::HasSubstr("because a setting says so"));
}

TEST(StagedPrice, ReadsAndRequestsWithoutStagersHaveNone) {
  const auto one_node = topology::Topology::single_node(2).value();
  Request read = stretches_of(staged_numbers, 2);
  read.direction = Direction::read;
  Overrides overrides;
  EXPECT_FALSE(choose(stretches_of(staged_numbers, 2), one_node, {}, {}, overrides).value().staged);
  overrides.stagers = Stagers{};
  EXPECT_FALSE(choose(read, one_node, {}, {}, overrides).value().staged);
}

TEST(StagedPrice, NothingIsHandedOverOfNothing) {
  const auto one_node = topology::Topology::single_node(2).value();
  Request nothing = stretches_of(staged_numbers, 2);
  nothing.arrays[0].section.count[0] = 0;
  Overrides overrides;
  overrides.stagers = Stagers{};
  const auto choice = choose(nothing, one_node, {}, {}, overrides).value();
  EXPECT_EQ(choice.staged->until_stored_seconds(), 0);
}

}  // namespace
}  // namespace weir::plan

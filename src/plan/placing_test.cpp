#include "plan/placing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plan/choice.hpp"
#include "plan/link_loads.hpp"
#include "plan/piece_sample.hpp"
#include "plan/test_machines.hpp"
#include "topology/network.hpp"

namespace weir::plan {
namespace {

using topology::PlacementRule;

// Each node of a mesh holds a share of every row: the middle is nearest to all of them.
TEST(Placing, NearestFillsTheMiddleOfAMeshAndPricedSharesItsNodes) {
  const auto topology = machine(9, 9, "mesh:9");
  const Request columns = blocks_of({64, 9 * 64}, {1, 9});
  const auto nearest = Plan::create(columns, topology, placed(PlacementRule::nearest, 3)).value();
  EXPECT_THAT(nodes_of(*nearest), ::testing::ElementsAre(4, 3, 5));
  const auto first = Plan::create(columns, topology, placed(PlacementRule::first, 3)).value();
  EXPECT_THAT(nodes_of(*first), ::testing::ElementsAre(0, 1, 2));
}

// Eight aggregators in a line of 64 nodes: the part of each comes from 8 neighbours.
class PricesOfPlacements : public ::testing::Test {
 protected:
  [[nodiscard]] Price price_of(PlacementRule rule) const {
    const auto pricing = Pricing::create(request_, topology_, targets_, rates_).value();
    return pricing.price(placed(rule, 8)).value();
  }
  [[nodiscard]] Choice choose_with(PlacementRule rule) const {
    Overrides overrides;
    overrides.strategy = Strategy::two_phase;
    overrides.placement = rule;
    overrides.aggregators_per_group = 8;
    overrides.buffer_bytes = 8192;
    overrides.alignment = 64;
    return choose(request_, topology_, targets_, rates_, overrides).value();
  }

  topology::Topology topology_ = machine(64, 64, "mesh:64");
  Request request_ = stretches_of(64 * 1024, 64);
  topology::FileTargets targets_;
  PlatformRates rates_;
};

TEST_F(PricesOfPlacements, KnowHopsAndPricedTakesTheFewer) {
  rates_.hop_bytes_per_second = rates_.link_bytes_per_second / 4;
  const Price spread = price_of(PlacementRule::spread);
  const Price nearest = price_of(PlacementRule::nearest);
  // The aggregator is at the first of 8 neighbours, or in their middle.
  EXPECT_DOUBLE_EQ(spread.mean_hops, (1 + 2 + 3 + 4 + 5 + 6 + 7) / 7.0);
  EXPECT_DOUBLE_EQ(nearest.mean_hops, (3 + 2 + 1 + 1 + 2 + 3 + 4) / 7.0);
  EXPECT_NEAR(spread.hop_seconds / nearest.hop_seconds,
              (spread.mean_hops - 1) / (nearest.mean_hops - 1), 1e-9);
  EXPECT_LT(nearest.seconds, spread.seconds);
  EXPECT_NEAR(spread.exchange_seconds - spread.hop_seconds,
              nearest.exchange_seconds - nearest.hop_seconds, 1e-12);
  const Choice chosen = choose_with(PlacementRule::priced);
  EXPECT_DOUBLE_EQ(chosen.chosen.mean_hops, nearest.mean_hops);
  EXPECT_LE(chosen.chosen.seconds, nearest.seconds);
  EXPECT_THAT(chosen.explain(), ::testing::HasSubstr("aggregators are placed: priced\n"));
  EXPECT_THAT(chosen.explain(),
              ::testing::HasSubstr("mesh:64; a byte from another node passes 2.29 links, which"));
}

// Two switches of 8 nodes, one aggregator on each node, each gathering from all. Half of what the 8
// nodes of a switch hold goes up: a quarter of all bytes on one link. The ways of a node have
// 7 × 2 and 8 × 4 links.
TEST(PricesOfLinks, TheBusiestOneLimitsTheExchange) {
  const auto topology = machine(16, 16, "switches:8");
  const Request request = blocks_of({64, 16 * 64}, {1, 16});
  const double bytes = 64 * 16 * 64 * 8;
  PlatformRates rates;
  rates.message_seconds = 0;
  rates.link_bytes_per_second = 1e9;
  rates.hop_bytes_per_second = 1e9;
  const topology::FileTargets targets;
  const auto price_with = [&] {
    const auto pricing = Pricing::create(request, topology, targets, rates).value();
    return pricing.price(placed(PlacementRule::spread, 16)).value();
  };
  const Price even = price_with();
  EXPECT_NEAR(even.link_seconds, bytes / 4 / 1e9, 1e-12);
  EXPECT_NEAR(even.mean_hops, (7 * 2 + 8 * 4) / 15.0, 1e-9);
  EXPECT_NEAR(even.exchange_seconds, even.link_seconds, 1e-12)
      << "longer than 15/16 of the bytes over 16 nodes' links, and the hops";
  rates.link_bytes_per_second = 1e8;
  const Price slow_nodes = price_with();
  EXPECT_NEAR(slow_nodes.link_seconds, even.link_seconds, 1e-12);
  EXPECT_NEAR(slow_nodes.exchange_seconds, bytes * 15 / 16 / 16 / 1e8 + slow_nodes.hop_seconds,
              1e-12);
  Overrides overrides;
  overrides.strategy = Strategy::two_phase;
  EXPECT_THAT(choose(request, topology, targets, rates, overrides).value().explain(),
              ::testing::HasSubstr("; the busiest link between switches takes "));
}

// Where hops cost little, sharing a node may cost less than a neighbour; where they cost much, not.
TEST_F(PricesOfPlacements, PricedIsNeverDearerThanTheOthers) {
  for (const double share : {0.01, 0.25, 1.0, 4.0, 100.0}) {
    rates_.hop_bytes_per_second = rates_.link_bytes_per_second * share;
    const double priced = choose_with(PlacementRule::priced).chosen.seconds;
    EXPECT_LE(priced, choose_with(PlacementRule::spread).chosen.seconds) << share;
    EXPECT_LE(priced, choose_with(PlacementRule::nearest).chosen.seconds) << share;
  }
}

TEST_F(PricesOfPlacements, AreTheSameWhereNothingIsKnownOfTheNetwork) {
  const Price unknown_rate = price_of(PlacementRule::nearest);
  EXPECT_EQ(unknown_rate.mean_hops, 0);
  EXPECT_EQ(unknown_rate.seconds, price_of(PlacementRule::spread).seconds);
  topology_ = topology::Topology::filled(64, 1).value();
  EXPECT_EQ(price_of(PlacementRule::spread).seconds, unknown_rate.seconds);
  const std::string before = choose_with(PlacementRule::priced).explain();
  rates_.hop_bytes_per_second = 1e6;
  EXPECT_EQ(price_of(PlacementRule::spread).seconds, unknown_rate.seconds);
  EXPECT_EQ(choose_with(PlacementRule::priced).explain(), before);
}

// All data is on node 3 of a ring, whose other nodes hold nothing.
TEST(Placing, PricedSharesANodeUntilANeighbourCostsLess) {
  const auto topology = topology::Topology::filled(24, 4)
                            .value()
                            .with_network(topology::Network::parse("6").value())
                            .value();
  const auto shape = array::Shape::create({16 * 1024}).value();
  array::BoxList boxes(1);
  boxes.push_back(shape.box());
  std::vector<std::int64_t> counts(24, 0);
  counts[13] = 1;
  const auto held = array::ExplicitDistribution::create(shape, counts, boxes).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  const Request request{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
  const auto nearest = Plan::create(request, topology, placed(PlacementRule::nearest, 4)).value();
  EXPECT_THAT(nodes_of(*nearest), ::testing::ElementsAre(3, 2, 4, 1));
  // The second aggregator on node 3 costs as much as one hop, the third would cost two.
  const auto priced = Plan::create(request, topology, placed(PlacementRule::priced, 4)).value();
  EXPECT_THAT(nodes_of(*priced), ::testing::ElementsAre(3, 3, 2, 4));
  // Nodes 3 to 5 share a way out, so the second aggregator is on node 2, which has another one.
  Parameters two_ways = placed(PlacementRule::priced, 4);
  two_ways.nodes_per_way_out = 3;
  const auto by_ways = Plan::create(request, topology, two_ways).value();
  EXPECT_THAT(nodes_of(*by_ways), ::testing::ElementsAre(3, 2, 3, 4));
}

// Six nodes with a switch each, under two switches: bytes for even nodes go up by one link of the
// sender, those for odd nodes by the other. All data is on node 1. A hop costs 0.1 of a pass over a
// node's link, so that each other node costs 4 × 0.1, and another aggregator on node 1 costs 1.
TEST(Placing, PricedTakesTheLinkThatOthersHaveLeft) {
  const auto topology = machine(6, 6, "fat-tree:1x2");
  const auto shape = array::Shape::create({5 * 4096}).value();
  array::BoxList boxes(1);
  boxes.push_back(shape.box());
  std::vector<std::int64_t> counts(6, 0);
  counts[1] = 1;
  const auto held = array::ExplicitDistribution::create(shape, counts, boxes).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  const Request request{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
  Parameters parameters = placed(PlacementRule::priced, 5);
  parameters.hop_cost = 0.1;
  const auto plan = Plan::create(request, topology, parameters).value();
  // The second one, on node 0, loads the even link; the third takes node 3 by the odd one (0.4 and
  // not 0.5); then both links are loaded alike, and nodes 2 and 5 follow (0.5 each).
  EXPECT_THAT(nodes_of(*plan), ::testing::ElementsAre(1, 0, 3, 2, 5));
  EXPECT_DOUBLE_EQ(share_of_busiest_link(*plan), 0.5);
  Parameters by_number = placed(PlacementRule::nearest, 3);
  const auto nearest = Plan::create(request, topology, by_number).value();
  EXPECT_THAT(nodes_of(*nearest), ::testing::ElementsAre(1, 0, 2));
  EXPECT_DOUBLE_EQ(share_of_busiest_link(*nearest), 1);
}

TEST(Placing, NoNodeHasMoreAggregatorsThanHolders) {
  const std::vector<std::int64_t> mixed = {0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 0, 4, 4};
  const auto topology = topology::Topology::of_nodes(mixed)
                            .value()
                            .with_network(topology::Network::parse("5").value())
                            .value();
  for (const PlacementRule rule : {PlacementRule::nearest, PlacementRule::priced}) {
    for (const std::int64_t holders : {0, 1, 2, 3}) {
      for (const std::int64_t aggregators : {1, 5, 6, 9, 14}) {
        Parameters parameters = placed(rule, aggregators);
        parameters.holders = holders;
        const auto plan = Plan::create(stretches_of(14 * 512, 14), topology, parameters).value();
        std::set<std::int64_t> ranks;
        for (std::int64_t number = 0; number < plan->aggregators(); ++number) {
          ranks.insert(plan->rank_of(number));
          EXPECT_EQ(plan->aggregator_at(plan->rank_of(number)), number);
        }
        EXPECT_EQ(static_cast<std::int64_t>(ranks.size()), plan->aggregators());
      }
    }
  }
}

TEST(Placing, AggregatorsPlacedByDataAreLimited) {
  const auto topology = topology::Topology::filled(most_placed_by_data + 1, 1).value();
  const Request request = stretches_of((most_placed_by_data + 1) * 8, most_placed_by_data + 1);
  for (const PlacementRule rule : {PlacementRule::nearest, PlacementRule::priced}) {
    Parameters parameters{Strategy::two_phase, most_placed_by_data, 64, 64};
    parameters.placement = rule;
    const auto most = Plan::create(request, topology, parameters);
    ASSERT_TRUE(most.ok());
    EXPECT_EQ(most.value()->aggregators(), most_placed_by_data);
    ++parameters.aggregators;
    const auto refused = Plan::create(request, topology, parameters);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message,
                ::testing::HasSubstr("for at most 65536 aggregators in a group, but there are "
                                     "65537: give fewer"));
    parameters.placement = PlacementRule::first;
    EXPECT_TRUE(Plan::create(request, topology, parameters).ok());
  }
}

// A group holds a sixteenth of each row, so its units are cut into parts, of which some units have
// fewer than others.
TEST(PieceSample, SkipsPartsThatUnitsDoNotHave) {
  const auto topology = topology::Topology::filled(64, 1).value().with_io_groups(4).value();
  const Request columns = blocks_of({1000, 64 * 24}, {1, 64});
  const auto plan = Plan::create(columns, topology, {Strategy::two_phase, 2, 8192, 64}, 3).value();
  constexpr double half = 1000 * 4 * 24 * 8 / 2.0;  // of what the group holds
  for (const std::int64_t most : {1, 2, 4, 7, 1000}) {
    double bytes = 0;
    for (const SampledPiece& one : piece_sample(*plan, 0, most)) {
      for (const Contributor& from : plan->contributors(plan->piece(one.id))) {
        bytes += static_cast<double>(from.bytes) * one.times;
      }
    }
    EXPECT_NEAR(bytes, half, half / 4) << most << " pieces";
  }
}

TEST(PieceSample, HasAllPiecesOrEvenlySpreadOnes) {
  const auto topology = topology::Topology::filled(8, 2).value();
  const auto plan =
      Plan::create(stretches_of(64 * 1024, 8), topology, {Strategy::two_phase, 2, 4096, 64})
          .value();
  std::set<PieceId> all;
  for (const SampledPiece& one : piece_sample(*plan, 1, 1 << 20)) {
    EXPECT_EQ(one.times, 1);
    EXPECT_EQ(one.id.aggregator, 1);
    all.insert(one.id);
  }
  ASSERT_EQ(all.size(), 64U);
  const auto few = piece_sample(*plan, 1, 4);
  ASSERT_EQ(few.size(), 4U);
  std::set<std::int64_t> steps;
  for (const SampledPiece& one : few) {
    EXPECT_EQ(one.times, 16);
    EXPECT_TRUE(all.contains(one.id));
    steps.insert(one.id.step / 16);
  }
  EXPECT_EQ(steps.size(), 4U) << "each quarter of the steps has one";
  EXPECT_TRUE(piece_sample(*plan, 1, 0).empty());
}

}  // namespace
}  // namespace weir::plan

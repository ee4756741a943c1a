#include "plan/choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "topology/network.hpp"

namespace weir::plan {
namespace {

using array::DistributionFormat;

// Float64 on 2 x 2 x ranks / 4 ranks, each row of `row_bytes` in the file.
Request cube(std::int64_t row_bytes, std::int64_t ranks, Direction direction = Direction::write,
             std::int64_t bytes = 256 << 20) {
  const std::int64_t last = row_bytes / 8 * (ranks / 4);
  const std::int64_t side = bytes / 8 / last / 64;
  const auto shape = array::Shape::create({side, 64, last}).value();
  const std::vector<DistributionFormat> formats(3, DistributionFormat::block_of());
  const auto held = array::RegularDistribution::create(shape, formats, {{2, 2, ranks / 4}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  return {direction, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

Choice choose_for(const Request& request, const topology::Topology& topology,
                  const topology::FileTargets& targets = {}, const Overrides& overrides = {}) {
  return choose(request, topology, targets, {}, overrides).value();
}

TEST(Choice, LongRowsAreWrittenDirectlyAndShortOnesGathered) {
  const auto one_node = topology::Topology::single_node(8).value();
  EXPECT_EQ(choose_for(cube(1 << 20, 8), one_node).parameters().strategy, Strategy::direct);
  for (const std::int64_t row : {64, 512, 2048}) {
    const Choice choice = choose_for(cube(row, 8), one_node);
    EXPECT_EQ(choice.parameters().strategy, Strategy::node_aggregation) << row;
    EXPECT_EQ(choice.chosen.bytes_per_run, row);
    EXPECT_GE(choice.chosen.bytes_per_call, 1 << 20);
  }
}

// Where bench/compare/strategy_prices.py found them; rows between these cost about the same either
// way. Writes of one file wait for each other, so they are gathered up to longer rows than reads.
TEST(Choice, WritesAreGatheredUpToLongerRowsThanReads) {
  const auto one_node = topology::Topology::single_node(8).value();
  const auto taken = [&](std::int64_t row, Direction direction) {
    return choose_for(cube(row, 8, direction), one_node).parameters().strategy;
  };
  for (const std::int64_t row : {64, 2048, 16384}) {
    EXPECT_EQ(taken(row, Direction::write), Strategy::node_aggregation) << row;
  }
  for (const std::int64_t row : {65536, 1048576}) {
    EXPECT_EQ(taken(row, Direction::write), Strategy::direct) << row;
  }
  for (const std::int64_t row : {64, 512, 2048}) {
    EXPECT_EQ(taken(row, Direction::read), Strategy::node_aggregation) << row;
  }
  for (const std::int64_t row : {16384, 65536, 1048576}) {
    EXPECT_EQ(taken(row, Direction::read), Strategy::direct) << row;
  }
}

TEST(Choice, FollowsThePlatform) {
  const auto one_node = topology::Topology::single_node(8).value();
  const auto taken = [&](std::int64_t row, const PlatformRates& rates) {
    return choose(cube(row, 8), one_node, {}, rates, {}).value().parameters().strategy;
  };
  PlatformRates side_by_side;  // as reads are
  side_by_side.write = side_by_side.read;
  EXPECT_EQ(taken(16384, side_by_side), Strategy::direct);
  PlatformRates dear;
  dear.write.call_seconds = 1e-3;
  EXPECT_EQ(taken(1048576, dear), Strategy::node_aggregation);
  EXPECT_THAT(choose(cube(64, 8), one_node, {}, dear, {}).value().explain(),
              testing::HasSubstr("\nrates: " + dear.origin));
}

TEST(Choice, NodesThatShareNoMemoryAreOnlyGatheredFromWherePiecesGrow) {
  // Each node has whole planes of the array: nothing is gained by sending between them.
  const auto nodes = topology::Topology::filled(8, 4).value();
  const auto shape = array::Shape::create({512, 256, 256}).value();
  const std::vector<DistributionFormat> formats(3, DistributionFormat::block_of());
  const auto held = array::RegularDistribution::create(shape, formats, {{2, 2, 2}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  const Request request{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
  EXPECT_EQ(choose_for(request, nodes).parameters().strategy, Strategy::node_aggregation);
}

TEST(Choice, PricesOfDirectWritesFollowCalls) {
  const auto one_node = topology::Topology::single_node(8).value();
  Parameters direct;
  direct.strategy = Strategy::direct;
  const topology::FileTargets targets;
  const PlatformRates rates;
  const auto price_for = [&](const Request& request) {
    return Pricing::create(request, one_node, targets, rates).value().price(direct).value();
  };
  const Price price = price_for(cube(512, 8));
  EXPECT_EQ(price.calls, (256 << 20) / 512);
  EXPECT_NEAR(price.call_seconds, 524288 * 5e-6, 1e-6);
  // Reads of one file do not wait for each other.
  const Price read = price_for(cube(512, 8, Direction::read));
  EXPECT_LT(read.call_seconds, price.call_seconds);
}

TEST(Choice, BetweenNodesLocksDecide) {
  const auto nodes = topology::Topology::filled(64, 8).value();
  const topology::FileTargets locked{4, 1 << 20, 1 << 20};
  const Choice choice = choose_for(cube(512, 64), nodes, locked);
  EXPECT_THAT(choice.parameters().strategy,
              testing::AnyOf(Strategy::two_phase, Strategy::server_directed));
  EXPECT_EQ(choice.parameters().alignment % (1 << 20), 0);
  // Each of the four targets is served by as many.
  EXPECT_EQ(choice.parameters().aggregators % 4, 0);
  EXPECT_EQ(choice.parameters().assignment, DomainAssignment::striped);
}

// While an aggregator's first piece comes and its last one goes, links are idle. Where nodes
// exchange messages and nobody has said how long buffers are, few pieces are therefore cut, down to
// 512 KiB.
TEST(Choice, FewPiecesBetweenNodesAreShort) {
  const auto nodes = topology::Topology::filled(8, 2).value();
  const auto one_node = topology::Topology::single_node(8).value();
  Overrides open;
  open.strategy = Strategy::two_phase;
  const auto piece = [&](const topology::Topology& topology, const Overrides& overrides,
                         const Request& request, const topology::FileTargets& targets = {}) {
    return choose_for(request, topology, targets, overrides).parameters().buffer_bytes;
  };
  const Request request = cube(512, 8, Direction::write, 64 << 20);
  EXPECT_EQ(piece(nodes, open, request), 512 << 10);
  EXPECT_EQ(piece(one_node, open, request), 2 << 20);
  // Stripes are not cut.
  const Request small = cube(512, 8, Direction::write, 16 << 20);
  EXPECT_GE(piece(nodes, open, small, {4, 1 << 20, 0}), 1 << 20);
  EXPECT_EQ(piece(nodes, open, small, {4, 4 << 20, 0}), 4 << 20);
  // Thousands of pieces.
  EXPECT_EQ(piece(nodes, open, cube(512, 8, Direction::write, std::int64_t{64} << 30)), 2 << 20);
  // The library's own buffers may hold shorter pieces; a user's may not.
  Overrides given = open;
  given.buffer_bytes = 2 << 20;
  EXPECT_EQ(piece(nodes, given, request), 2 << 20);
  given.shorter_pieces = true;
  EXPECT_EQ(piece(nodes, given, request), 512 << 10);
}

TEST(Choice, SettingsOverride) {
  const auto nodes = topology::Topology::filled(8, 4).value();
  for (const Strategy strategy : all_strategies) {
    Overrides overrides;
    overrides.strategy = strategy;
    overrides.aggregators_per_node = 2;
    overrides.buffer_bytes = 512 << 10;
    const Choice choice = choose_for(cube(512, 8), nodes, {}, overrides);
    EXPECT_EQ(choice.parameters().strategy, strategy);
    EXPECT_EQ(choice.chosen.aggregators, strategy == Strategy::direct ? 8 : 4);
    EXPECT_EQ(choice.parameters().buffer_bytes, 512 << 10);
    EXPECT_THAT(choice.explain(), testing::HasSubstr("because a setting says so"));
  }
}

TEST(Choice, TakesTheEngineThatCostsLeast) {
  const auto one_node = topology::Topology::single_node(8).value();
  Overrides any;
  for (const Engine engine : storing_engines) any.engines.add(engine);
  const auto taken = [&](const PlatformRates& rates, std::int64_t row) {
    return choose(cube(row, 8), one_node, {}, rates, any).value();
  };
  // What fits into memory is written there.
  PlatformRates rates;
  const Choice cached = taken(rates, 1048576);
  EXPECT_EQ(cached.engine(), Engine::posix);
  EXPECT_THAT(cached.explain(), testing::HasSubstr("\nengine: posix (io_uring "));
  // Storage that takes bytes faster than a page cache copies them.
  rates.write.storage_bytes_per_second = 20e9;
  rates.direct_write = {50e-6, 5e9, 20e9, false, 20e9};
  const Choice direct = taken(rates, 1048576);
  EXPECT_EQ(direct.engine(), Engine::direct);
  EXPECT_GT(direct.chosen.seconds_by_engine[0], direct.chosen.seconds);
  EXPECT_THAT(direct.explain(), testing::HasSubstr("\nengine: direct-io (posix "));
  // Storage that is slower decides alone, and memory takes a part.
  rates.cached_bytes = 64 << 20;
  rates.write.storage_bytes_per_second = 1e9;
  rates.direct_write = {50e-6, 1e9, 1e9, false, 1e9};
  EXPECT_EQ(taken(rates, 1048576).engine(), Engine::posix);
  // A platform on which a library does better.
  rates.mpi_io_seconds = -4e-6;
  any.strategy = Strategy::direct;
  EXPECT_EQ(taken(rates, 64).engine(), Engine::mpi_io);
  for (const Engine engine : all_engines) {
    any.engines = Engines::only(engine);
    EXPECT_EQ(taken({}, 64).engine(), engine);
    EXPECT_EQ(parse_engine(name_of(engine)).value(), engine);
  }
  EXPECT_FALSE(parse_engine("fast").ok());
}

TEST(Choice, ExplainsWithPricesAndReason) {
  const Choice choice = choose_for(cube(512, 8), topology::Topology::single_node(8).value());
  const std::string text = choice.explain();
  for (const Strategy strategy : all_strategies) {
    EXPECT_THAT(text, testing::HasSubstr("\n" + std::string(name_of(strategy))));
  }
  EXPECT_THAT(text, testing::StartsWith("node with "));
  EXPECT_THAT(text, testing::HasSubstr("rows are 512 B long"));
  EXPECT_THAT(text, testing::HasSubstr("would take 2.62 s only for 524288 calls"));
  for (std::size_t i = 1; i < choice.prices.size(); ++i) {
    EXPECT_LE(choice.prices[i - 1].seconds, choice.prices[i].seconds);
  }
}

// A node's ranks have half a MiB of each row of 8 MiB, so most of its aggregators, each with every
// 128th stripe, have nothing; the sample must not take those for all.
TEST(Choice, NodesWithSmallPartsOfLongRowsAreNotFree) {
  const auto nodes = topology::Topology::filled(2048, 128).value();
  const auto shape = array::Shape::create({4096, 1 << 20}).value();
  const std::vector<DistributionFormat> formats = {DistributionFormat::whole_dimension(),
                                                   DistributionFormat::block_of()};
  const auto held = array::RegularDistribution::create(shape, formats, {{1, 2048}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  const Request request{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
  const topology::FileTargets targets{64, 1 << 20, 1 << 20};
  const PlatformRates rates;
  const auto pricing = Pricing::create(request, nodes, targets, rates).value();
  const Parameters parameters{Strategy::node_aggregation, 128, 2 << 20, 1 << 20,
                              DomainAssignment::striped};
  EXPECT_GT(pricing.price(parameters).value().seconds, 1);
}

TEST(Choice, NodesWithoutElementsDoNotMakeTheOthersFree) {
  // 4 of 8 ranks hold something; the second node is asked for nothing.
  const auto nodes = topology::Topology::filled(8, 4).value();
  const auto shape = array::Shape::create({1 << 20, 4}).value();
  const std::vector<DistributionFormat> formats = {DistributionFormat::whole_dimension(),
                                                   DistributionFormat::block_of()};
  const auto held = array::RegularDistribution::create(shape, formats, {{1, 8}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  const Request request{Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
  for (const Price& price : choose_for(request, nodes).prices) EXPECT_GT(price.seconds, 1e-3);
}

TEST(Choice, TakesMoreAggregatorsWhereANodeHasTheCores) {
  const auto one_node = topology::Topology::single_node(64).value();
  Overrides node;
  node.strategy = Strategy::node_aggregation;
  const auto taken = [&](std::int64_t cores, std::int64_t holders) {
    PlatformRates rates;
    rates.cores_per_node = cores;
    node.holders = holders;
    return choose(cube(512, 64), one_node, {}, rates, node).value().chosen.aggregators;
  };
  EXPECT_EQ(taken(1, 16), 1);
  EXPECT_EQ(taken(2, 16), 2);
  EXPECT_GE(taken(64, 16), 4);
  EXPECT_LE(taken(64, 16), 16);
  EXPECT_EQ(taken(64, 1), 1);
}

TEST(Choice, OfNothingAskedForIsFree) {
  Request nothing = cube(512, 8);
  nothing.arrays[0].section.count[1] = 0;
  EXPECT_EQ(choose_for(nothing, topology::Topology::single_node(8).value()).chosen.seconds, 0);
}

TEST(Choice, OneAggregatorMovesAllWhereCachesAreNotCoherent) {
  const auto four_nodes =
      topology::Topology::of_nodes(std::vector<std::int64_t>{0, 0, 1, 1, 2, 2, 3, 3}).value();
  const topology::FileTargets nfs{.coherent_caches = false};
  // Long rows, which would be written directly.
  const Request request = cube(1 << 20, 8);
  ASSERT_EQ(choose_for(request, four_nodes).parameters().strategy, Strategy::direct);
  Overrides asked;
  for (const auto per_node : {std::optional<std::int64_t>(), std::optional<std::int64_t>(2)}) {
    asked.aggregators_per_node = per_node;
    const Choice choice = choose_for(request, four_nodes, nfs, asked);
    EXPECT_EQ(Plan::groups(four_nodes, choice.parameters().strategy), 1);
    EXPECT_EQ(choice.parameters().aggregators, 1);
  }
  for (const Strategy strategy : {Strategy::direct, Strategy::node_aggregation}) {
    Overrides forced;
    forced.strategy = strategy;
    const auto refused = choose(request, four_nodes, nfs, {}, forced);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_THAT(refused.error().message, testing::HasSubstr(std::string(name_of(strategy))));
  }
  Overrides forced;
  forced.strategy = Strategy::server_directed;
  const Choice server_directed = choose_for(request, four_nodes, nfs, forced);
  EXPECT_EQ(server_directed.parameters().strategy, Strategy::server_directed);
  EXPECT_EQ(server_directed.parameters().aggregators, 1);
  const auto one_node = topology::Topology::single_node(8).value();
  EXPECT_EQ(choose_for(request, one_node, nfs).parameters().strategy, Strategy::direct);
  Overrides forced_to_direct;
  forced_to_direct.strategy = Strategy::direct;
  EXPECT_THAT(choose(request, four_nodes, nfs, {}, forced_to_direct).error().message,
              testing::HasSubstr("other's writes; use two-phase"));
  const auto grouped = four_nodes.with_io_groups(2).value();
  EXPECT_THAT(choose(request, grouped, nfs, {}, {}).error().message,
              testing::HasSubstr("open the session without io_groups (WEIR_IO_GROUPS), and use "));
}

TEST(Choice, NamesTheIoGroups) {
  const auto four_nodes = topology::Topology::filled(8, 2).value();
  const Request request = cube(64, 8);
  EXPECT_THAT(choose_for(request, four_nodes).explain(),
              testing::Not(testing::HasSubstr("I/O groups")));
  EXPECT_THAT(choose_for(request, four_nodes.with_io_groups(3).value()).explain(),
              testing::HasSubstr("\nI/O groups: 2 (1 of 3 nodes, 1 of 1 node)\nrates: "));
}

TEST(Choice, NamesPlacementAndNetwork) {
  const auto eight_nodes = topology::Topology::filled(16, 2).value();
  const Request request = cube(64, 16);
  Overrides overrides;
  overrides.strategy = Strategy::two_phase;
  const std::string spread = choose_for(request, eight_nodes, {}, overrides).explain();
  EXPECT_THAT(spread, testing::Not(testing::HasSubstr("placed")));
  EXPECT_THAT(spread, testing::Not(testing::HasSubstr("network")));
  const auto connected =
      eight_nodes.with_network(topology::Network::parse("2x2x2").value()).value();
  overrides.placement = topology::PlacementRule::nearest;
  EXPECT_THAT(choose_for(request, connected, {}, overrides).explain(),
              testing::HasSubstr("\naggregators are placed: nearest\nnetwork: 2x2x2\nrates: "));
}

TEST(Choice, TakesAggregatorsPerGroup) {
  const auto topology = topology::Topology::filled(32, 2).value().with_io_groups(8).value();
  Overrides overrides;
  overrides.strategy = Strategy::two_phase;
  overrides.aggregators_per_group = 3;
  EXPECT_EQ(choose_for(cube(512, 32), topology, {}, overrides).parameters().aggregators, 3);
  overrides.aggregators_per_group = 1000;  // there are 16 ranks
  EXPECT_EQ(choose_for(cube(512, 32), topology, {}, overrides).parameters().aggregators, 16);
}

// Rank 0 writes the headers, on the first node.
TEST(Choice, TheOneAggregatorIsOnTheFirstNodeWhereCachesAreNotCoherent) {
  const auto four_nodes = topology::Topology::filled(8, 2)
                              .value()
                              .with_network(topology::Network::parse("mesh:4").value())
                              .value();
  Overrides overrides;
  overrides.strategy = Strategy::two_phase;
  overrides.placement = topology::PlacementRule::nearest;
  const topology::FileTargets nfs{.coherent_caches = false};
  const Request request = cube(512, 8);
  const Choice choice = choose_for(request, four_nodes, nfs, overrides);
  const auto plan = Plan::create(request, four_nodes, choice.parameters()).value();
  EXPECT_EQ(plan->rank_of(0), 0);
}

TEST(Choice, RefusesWhatPlansRefuse) {
  EXPECT_FALSE(choose(cube(512, 8), topology::Topology::single_node(4).value(), {}, {}, {}).ok());
}

TEST(Strategy, NamesAreReadBack) {
  for (const Strategy strategy : all_strategies) {
    EXPECT_EQ(parse_strategy(name_of(strategy)).value(), strategy);
  }
  EXPECT_FALSE(parse_strategy("three-phase").ok());
}

}  // namespace
}  // namespace weir::plan

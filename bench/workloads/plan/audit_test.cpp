#include "workloads/plan/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "plan/choice.hpp"
#include "topology/network.hpp"

namespace weir::bench::plan_audit {
namespace {

using namespace plan;
using array::DistributionFormat;

// `rows` x `columns` numbers of 8 bytes, each rank some columns of every row.
Request columns_of(std::int64_t rows, std::int64_t columns, std::int64_t ranks) {
  const auto shape = array::Shape::create({rows, columns}).value();
  const std::vector<DistributionFormat> formats = {DistributionFormat::whole_dimension(),
                                                   DistributionFormat::block_of()};
  const auto held = array::RegularDistribution::create(shape, formats, {{1, ranks}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  return {Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

// 4 nodes of 2 ranks; 8 rows of 512 bytes, each a stripe and a piece.
TEST(Audit, CountsASmallPlanAsByHand) {
  const auto topology = topology::Topology::filled(8, 2).value();
  const topology::FileTargets targets{2, 512, 0};
  const Parameters parameters{Strategy::two_phase, 4, 512, 512, DomainAssignment::striped};
  const auto found = audit(columns_of(8, 64, 8), topology, targets, parameters).value();
  EXPECT_EQ(found.nodes, 4);
  EXPECT_EQ(found.targets, 2);
  EXPECT_EQ(found.aggregators, 4);
  EXPECT_EQ(found.aggregating_nodes, 4);
  EXPECT_EQ(found.pieces, 8);
  EXPECT_EQ(found.pieces_per_aggregator.least, 2);
  EXPECT_EQ(found.bytes_per_aggregator.most, 1024);
  EXPECT_EQ(found.bytes_per_node.least, 1024);
  EXPECT_EQ(found.bytes_per_target.least, 2048);
  // Even rows go to one target, by the aggregators 0 and 2.
  EXPECT_EQ(found.client_nodes_per_target.least, 2);
  EXPECT_EQ(found.client_nodes_per_target.most, 2);
  // One from each other node, with the shares of its two ranks.
  EXPECT_EQ(found.messages_per_piece.least, 3);
  EXPECT_EQ(found.messages_per_piece.most, 3);
  EXPECT_EQ(found.nodes_per_piece.most, 3);
  EXPECT_EQ(found.bytes_per_message.mean, 128);
  EXPECT_EQ(found.messages, 24);
  EXPECT_EQ(found.receiving_nodes, 4);
  EXPECT_GE(found.cards_at_once.least, 1);
  EXPECT_LE(found.cards_at_once.most, 4);
  // Both pieces of an aggregator, without what its own node has.
  EXPECT_EQ(found.most_bytes_ahead, 2 * 384);
  const auto bounded =
      audit(columns_of(8, 64, 8), topology, targets, parameters, {.pieces_ahead = 1}).value();
  EXPECT_EQ(bounded.most_bytes_ahead, 384);
}

TEST(Audit, NodesByThemselvesSendNothingAndMeetAllTargets) {
  const auto topology = topology::Topology::filled(8, 2).value();
  const topology::FileTargets targets{2, 512, 0};
  const Parameters parameters{Strategy::node_aggregation, 1, 4096, 512};
  const auto found = audit(columns_of(8, 64, 8), topology, targets, parameters).value();
  EXPECT_EQ(found.aggregators, 4);
  EXPECT_EQ(found.client_nodes_per_target.least, 4);
  EXPECT_EQ(found.bytes_per_node.least, 1024);
  EXPECT_EQ(found.bytes_per_node.most, 1024);
  EXPECT_EQ(found.messages, 0);
  EXPECT_EQ(found.receiving_nodes, 0);
}

// 4 nodes in 2 groups; each rank has some of every row, so an aggregator without groups gathers
// half of a row from the other group.
TEST(Audit, CountsBytesThatCrossGroups) {
  const auto topology = topology::Topology::filled(8, 2).value();
  const auto grouped = topology.with_io_groups(2).value();
  const std::vector<std::int64_t> spread = {0, 1, 1, 1};
  const auto uneven = topology.with_io_groups(spread).value();
  const topology::FileTargets targets{2, 512, 0};
  const Request request = columns_of(8, 64, 8);
  for (const Strategy strategy : all_strategies) {
    SCOPED_TRACE(name_of(strategy));
    const bool gathers_from_all = gathers_within(strategy) == topology::GatherWithin::io_group &&
                                  strategy != Strategy::direct;
    const Parameters parameters{strategy, 2, 512, 512, DomainAssignment::striped};
    const auto across = [&](const topology::Topology& planned, const topology::Topology& counted) {
      return audit(request, planned, targets, parameters, {}, &counted).value().bytes_across_groups;
    };
    EXPECT_EQ(across(topology, grouped), gathers_from_all ? 8 * 256 : 0);
    // The aggregators are on the nodes 0 and 2, with four rows each.
    EXPECT_EQ(across(topology, uneven), gathers_from_all ? 4 * 384 + 4 * 128 : 0);
    EXPECT_EQ(across(grouped, grouped), 0);
    EXPECT_EQ(across(uneven, uneven), 0);
  }
  EXPECT_EQ(audit(request, topology, targets, {}).value().bytes_across_groups, 0);
}

// 4 nodes with 128 bytes of every row; each gathers two of the eight rows.
TEST(Audit, CountsHopsAndLinks) {
  const auto topology = topology::Topology::filled(8, 2).value();
  const Parameters parameters{Strategy::two_phase, 4, 512, 512, DomainAssignment::striped};
  const auto counted = [&](const char* network) {
    auto connected = topology;
    if (network != nullptr) {
      connected = topology.with_network(topology::Network::parse(network).value()).value();
    }
    return audit(columns_of(8, 64, 8), connected, {2, 512, 0}, parameters).value();
  };
  const auto alike = counted(nullptr);
  EXPECT_EQ(alike.hop_bytes, 8 * 3 * 128);
  EXPECT_EQ(alike.mean_hops, 0.75);
  EXPECT_EQ(alike.bytes_per_link.least, 2 * 3 * 128);
  EXPECT_EQ(alike.bytes_per_link.most, 2 * 3 * 128);
  // To the other side of the ring, data takes the ascending way.
  const auto ring = counted("4");
  EXPECT_EQ(ring.hop_bytes, 8 * (1 + 2 + 1) * 128);
  EXPECT_EQ(ring.mean_hops, 1);
  EXPECT_EQ(ring.bytes_per_link.most, 2 * 3 * 128);
  EXPECT_EQ(ring.bytes_per_link.least, 2 * 1 * 128);
  const auto line = counted("mesh:4");
  EXPECT_EQ(line.hop_bytes, 2 * (6 + 4 + 4 + 6) * 128);
  // The middle link has, in either direction, what two nodes have for two others.
  EXPECT_EQ(line.bytes_per_link.most, 2 * 4 * 128);
  const auto tree = counted("switches:2");
  EXPECT_EQ(tree.hop_bytes, 8 * (2 + 4 + 4) * 128);
  EXPECT_EQ(tree.bytes_per_link.most, 2 * 4 * 128);
}

TEST(Audit, RanksThatWriteTheirRowsMeetAllTargets) {
  const auto topology = topology::Topology::filled(8, 2).value();
  const topology::FileTargets targets{4, 512, 0};
  Parameters direct;
  direct.strategy = Strategy::direct;
  const auto found = audit(columns_of(8, 64, 8), topology, targets, direct).value();
  EXPECT_EQ(found.aggregators, 8);
  EXPECT_EQ(found.client_nodes_per_target.least, 4);
  EXPECT_EQ(found.client_nodes_per_target.most, 4);
}

// 1 TiB on nodes of 128 ranks with 128 cores, before 64 targets with stripes of 1 MiB.
constexpr topology::FileTargets many_targets{64, 1 << 20, 1 << 20};
constexpr std::int64_t credits = most_pieces_ahead;

struct Machine {
  const char* name;
  topology::Topology topology;
};

std::vector<Machine> machines() {
  return {{"128 nodes", topology::Topology::filled(128 * 128, 128).value()},
          {"64 nodes", topology::Topology::filled(64 * 128, 128).value()},
          {"100 nodes", topology::Topology::filled(100 * 128, 128).value()},
          {"200 nodes", topology::Topology::filled(200 * 32, 32).value()},
          {"300 nodes", topology::Topology::filled(300 * 16, 16).value()},
          {"ranks distributed round-robin", topology::Topology::round_robin(64 * 128, 128).value()},
          {"one rank on the last node", topology::Topology::filled(63 * 128 + 1, 128).value()}};
}

Request blocks_of_cubes() {
  const auto shape = array::Shape::create({4096, 4096, 8192}).value();
  const std::vector<DistributionFormat> formats(3, DistributionFormat::block_of());
  const auto held = array::RegularDistribution::create(shape, formats, {{16, 32, 32}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  return {Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

// Returns what the library chooses by itself where each node has room for `holders` aggregators.
PlanAudit chosen(const Request& request, const topology::Topology& topology, std::int64_t holders,
                 std::optional<std::int64_t> aggregators_per_node = std::nullopt) {
  PlatformRates rates;
  rates.cores_per_node = 128;
  Overrides overrides;
  overrides.holders = holders;
  overrides.aggregators_per_node = aggregators_per_node;
  if (aggregators_per_node) overrides.strategy = Strategy::two_phase;
  const auto choice = choose(request, topology, many_targets, rates, overrides).value();
  EXPECT_THAT(choice.parameters().strategy,
              testing::AnyOf(Strategy::two_phase, Strategy::server_directed));
  // No rule is about the routes of bytes, so they are not followed.
  return audit(request, topology, many_targets, choice.parameters(),
               {.pieces = 72, .messages = 1 << 18, .pieces_ahead = credits, .contributions = 1})
      .value();
}

// A target serves few nodes, a node sends one message a piece, at least half of the aggregating
// nodes receive at any time, and what is sent ahead of a slow aggregator is bounded.
void expect_rules(const PlanAudit& found) {
  EXPECT_LE(found.messages_per_piece.most, static_cast<double>(found.nodes - 1));
  EXPECT_GE(found.bytes_per_target.least, 0.98 * found.bytes_per_target.most);
  EXPECT_LE(found.client_nodes_per_target.most, 4);
  EXPECT_GE(found.aggregators, 64);
  EXPECT_GE(2 * found.cards_at_once.least, static_cast<double>(found.aggregating_nodes));
  EXPECT_LE(found.most_bytes_ahead, static_cast<double>(credits * found.parameters.buffer_bytes));
}

TEST(AuditOfLargeMachines, ColumnsKeepTheRulesWhereverRanksAre) {
  for (const Machine& machine : machines()) {
    SCOPED_TRACE(machine.name);
    // There are as many columns as ranks: each has 8 bytes of every row.
    const std::int64_t ranks = machine.topology.ranks();
    const Request request = columns_of(std::int64_t{1} << 23, ranks, ranks);
    const PlanAudit found = chosen(request, machine.topology, 16);
    expect_rules(found);
    EXPECT_EQ(found.messages_per_piece.least, static_cast<double>(found.nodes - 1));
  }
}

TEST(AuditOfLargeMachines, BlocksKeepTheRules) {
  const auto topology = topology::Topology::filled(128 * 128, 128).value();
  const PlanAudit found = chosen(blocks_of_cubes(), topology, 16);
  expect_rules(found);
}

// One per node or all 128: a program that is bound to cores, and one that is not. The work grows
// with the nodes and with the aggregators, so that fewer nodes have 128 each.
TEST(AuditOfLargeMachines, KeepTheRulesWithAnyNumberOfAggregators) {
  for (const auto& [each, nodes] :
       {std::pair<std::int64_t, std::int64_t>{1, 128}, {4, 128}, {128, 32}}) {
    SCOPED_TRACE(each);
    const std::int64_t ranks = nodes * 128;
    const auto topology = topology::Topology::filled(ranks, 128).value();
    const Request request = columns_of(std::int64_t{1} << 23, 16384, ranks);
    expect_rules(chosen(request, topology, each, each));
  }
}

TEST(AuditOfLargeMachines, NumberOfAggregatorsDoesNotFollowTheSmallestNode) {
  const Request request = columns_of(std::int64_t{1} << 23, 16384, 127 * 128 + 1);
  const PlanAudit even = chosen(request, topology::Topology::filled(128 * 128, 128).value(), 16);
  const PlanAudit uneven =
      chosen(request, topology::Topology::filled(127 * 128 + 1, 128).value(), 16);
  EXPECT_GT(even.aggregators, 128);
  EXPECT_GE(static_cast<double>(uneven.aggregators), 0.9 * static_cast<double>(even.aggregators));
}

TEST(Audit, RefusesWhatPlansRefuse) {
  const auto topology = topology::Topology::filled(8, 2).value();
  EXPECT_FALSE(audit(columns_of(8, 64, 9), topology, {}, {}).ok());
}

}  // namespace
}  // namespace weir::bench::plan_audit

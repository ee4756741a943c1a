#include "flows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "array/regular_distribution.hpp"
#include "plan/file_image.hpp"
#include "topology/network.hpp"

namespace weir::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

plan::Request request_of(const array::Indices& extents,
                         const std::vector<array::DistributionFormat>& formats,
                         const array::Indices& grid) {
  const auto shape = array::Shape::create(extents).value();
  const array::Distribution held =
      array::RegularDistribution::create(shape, formats, {.extents = grid}).value();
  const plan::Image image =
      plan::FileImage::create(shape, array::ElementKind::uint8, array::Order::row_major, 0).value();
  return {Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

// Every rank has `bytes` of its own, one rank's behind the other's.
plan::Request messages(std::int64_t ranks, std::int64_t bytes) {
  return request_of({ranks * bytes}, {array::DistributionFormat::block_of()}, {ranks});
}

// Every rank has a part of every row.
plan::Request columns(std::int64_t rows, std::int64_t ranks, std::int64_t bytes) {
  return request_of(
      {rows, ranks * bytes},
      {array::DistributionFormat::whole_dimension(), array::DistributionFormat::block_of()},
      {1, ranks});
}

topology::Topology nodes_in_groups(std::int64_t nodes, std::int64_t each, std::int64_t group) {
  return topology::Topology::filled(nodes * each, each).value().with_io_groups(group).value();
}

plan::Parameters two_phase(std::int64_t aggregators, std::int64_t buffer) {
  return {plan::Strategy::two_phase, aggregators, buffer, 1};
}

TEST(Flows, EachAggregatorGathersFromItsOwnPartOfTheGroup) {
  // 4 groups of 8 nodes of 4 ranks, 2 aggregators each: 16 ranks on 4 nodes for each of them.
  const auto topology = nodes_in_groups(32, 4, 8);
  const auto flows =
      flows_of_plan(messages(128, 1024), topology, two_phase(2, 1 << 20), {}).value();
  ASSERT_EQ(flows.clients.size(), 8U);
  EXPECT_EQ(flows.operations, 8);
  EXPECT_EQ(flows.calls, 8);
  EXPECT_EQ(flows.bytes, 128 * 1024);
  // The node of the aggregator sends itself nothing.
  EXPECT_EQ(flows.messages, 8 * 3);
  EXPECT_EQ(flows.message_bytes, 8 * 3 * 4 * 1024);
  for (const Client& client : flows.clients) {
    ASSERT_EQ(client.operations.size(), 1U);
    EXPECT_EQ(client.operations[0].bytes, 16 * 1024);
    EXPECT_EQ(client.group, topology.io_group_of_node(client.node));
  }
}

TEST(Flows, PiecesAreAsLongAsTheBufferAndKeepTheirNumbers) {
  const auto topology = nodes_in_groups(8, 2, 4);
  const auto whole =
      flows_of_plan(columns(64, 16, 64), topology, two_phase(2, 1 << 20), {}).value();
  const auto cut = flows_of_plan(columns(64, 16, 64), topology, two_phase(2, 2048), {}).value();
  EXPECT_GT(cut.operations, 4 * whole.operations);
  EXPECT_EQ(cut.bytes, whole.bytes);
  EXPECT_EQ(cut.bytes, 64 * 16 * 64);
  EXPECT_EQ(cut.message_bytes, whole.message_bytes);
  // A group holds half of each row, so every row of a piece is a call.
  EXPECT_EQ(whole.calls, 2 * 64);
}

TEST(Flows, RanksThatWriteDirectlyCallForEachRow) {
  const auto topology = nodes_in_groups(8, 2, 4);
  plan::Parameters direct;
  direct.strategy = plan::Strategy::direct;
  const auto flows = flows_of_plan(columns(64, 16, 64), topology, direct, {}).value();
  EXPECT_EQ(flows.clients.size(), 16U);
  EXPECT_EQ(flows.messages, 0);
  EXPECT_EQ(flows.calls, 16 * 64);
  EXPECT_EQ(flows.operations, 16 * 64);
  EXPECT_EQ(flows.bytes, 64 * 16 * 64);
}

TEST(Flows, ReadsMoveShortHolesAlongAndWritesDoNot) {
  // Each of 4 groups has 256 of the 1024 bytes of each of 64 rows.
  const auto topology = nodes_in_groups(8, 2, 2);
  plan::Request request = columns(64, 16, 64);
  const auto written = flows_of_plan(request, topology, two_phase(1, 1 << 20), {}).value();
  EXPECT_EQ(written.calls, 4 * 64);
  EXPECT_EQ(written.bytes_moved, written.bytes);
  request.direction = Direction::read;
  const auto read = flows_of_plan(request, topology, two_phase(1, 1 << 20), {}).value();
  EXPECT_EQ(read.operations, 4);
  EXPECT_EQ(read.calls, 4);
  EXPECT_EQ(read.bytes, 64 * 1024);
  EXPECT_EQ(read.bytes_moved, 4 * (63 * 1024 + 256));
  // The ranks of a node read for themselves.
  plan::Parameters direct;
  direct.strategy = plan::Strategy::direct;
  const auto alone = flows_of_plan(request, topology, direct, {}).value();
  EXPECT_EQ(alone.calls, 16 * 64);
  EXPECT_EQ(alone.bytes_moved, 64 * 1024);
}

TEST(Flows, NodesGatherWithoutMessages) {
  const auto topology = nodes_in_groups(8, 2, 4);
  plan::Parameters node = two_phase(1, 1 << 20);
  node.strategy = plan::Strategy::node_aggregation;
  const auto flows = flows_of_plan(columns(64, 16, 64), topology, node, {}).value();
  EXPECT_EQ(flows.clients.size(), 8U);
  EXPECT_EQ(flows.messages, 0);
  EXPECT_EQ(flows.bytes, 64 * 16 * 64);
}

TEST(Flows, BytesLieOnTheTargetsOfTheirStripes) {
  const auto topology = nodes_in_groups(4, 1, 4);
  FlowRules rules;
  rules.targets = 3;
  rules.stripe_bytes = 100;
  plan::Parameters direct;
  direct.strategy = plan::Strategy::direct;
  // Rank 1 has bytes 750 to 1500: the second half of stripe 7, then stripes 8 to 14.
  const auto flows = flows_of_plan(messages(4, 750), topology, direct, rules).value();
  const Client& client = flows.clients[1];
  ASSERT_EQ(client.operations.size(), 1U);
  const auto targets = client.targets(client.operations[0]);
  EXPECT_THAT(std::vector<Share>(targets.begin(), targets.end()),
              ElementsAre(Share{0, 200}, Share{1, 250}, Share{2, 300}));
}

TEST(Flows, AggregatorsOfAllGroupsGatherFromAnyGroup) {
  const auto topology = nodes_in_groups(32, 4, 8);
  FlowRules rules;
  rules.aggregators_on_first_nodes = 2;
  const auto flows =
      flows_of_plan(messages(128, 1024), topology, two_phase(1, 1 << 20), rules).value();
  ASSERT_EQ(flows.clients.size(), 8U);
  EXPECT_EQ(flows.bytes, 128 * 1024);
  std::int64_t from_others = 0;
  for (const Client& client : flows.clients) {
    EXPECT_LT(topology.position_in_group(client.node), 2);
    for (const Share& share : client.sources(client.operations[0])) {
      if (share.place != client.group) from_others += share.bytes;
    }
  }
  EXPECT_GT(from_others, 0);
}

std::vector<Share> sources_of(const Client& client, const Operation& operation) {
  const auto sources = client.sources(operation);
  return {sources.begin(), sources.end()};
}

TEST(Flows, EverySourceIsANode) {
  const auto flows =
      flows_of_plan(messages(16, 1024), nodes_in_groups(4, 4, 4), two_phase(1, 1 << 20), {})
          .value();
  ASSERT_EQ(flows.sources, Sources::nodes);
  ASSERT_EQ(flows.clients.size(), 1U);
  const Client& client = flows.clients[0];
  ASSERT_EQ(client.node, 0);
  EXPECT_THAT(sources_of(client, client.operations[0]),
              ElementsAre(Share{1, 4096, 4}, Share{2, 4096, 8}, Share{3, 4096, 12}));
}

TEST(Flows, PiecesHaveTheTurnsOfTheLibrarysBuffers) {
  // A stripe is cut into four pieces. With eight buffers a stripe has five turns, so that the fifth
  // piece has turn 5; with seven, which is coprime to four, it has turn 4.
  const auto topology = nodes_in_groups(4, 4, 4);
  const auto turns_with = [&](std::int64_t buffer) {
    plan::Parameters parameters = two_phase(1, buffer);
    parameters.alignment = 4 * buffer;
    const auto flows = flows_of_plan(messages(16, buffer), topology, parameters, {}).value();
    std::vector<std::int64_t> turns;
    for (const Operation& one : flows.clients.at(0).operations) turns.push_back(one.turn);
    turns.resize(6);
    return turns;
  };
  EXPECT_THAT(turns_with(2 << 20), ElementsAre(0, 1, 2, 3, 5, 6));
  EXPECT_THAT(turns_with((16 << 20) / 7), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Flows, NodesHaveSlotsLikeTheLibrary) {
  const auto topology = nodes_in_groups(4, 4, 4);
  const auto slots_with = [&](std::int64_t aggregators, std::int64_t buffer) {
    return flows_of_plan(messages(16, 1024), topology, two_phase(aggregators, buffer), {})
        .value()
        .slots;
  };
  EXPECT_EQ(slots_with(1, 1 << 20), 8);
  EXPECT_EQ(slots_with(4, 1 << 20), 8);
  EXPECT_EQ(slots_with(5, 1 << 20), 16);  // two aggregators on one of the four nodes
  EXPECT_EQ(slots_with(12, 1 << 20), 24);
  EXPECT_EQ(slots_with(4, 16 << 20), 4);  // more than its two buffers: a node has at least four
  EXPECT_EQ(slots_with(12, 16 << 20), 6);
}

TEST(Flows, SourcesOfMoreMessagesAreSwitches) {
  // 8 nodes of 4 ranks, 2 on each switch; one aggregator gathers two pieces of 4 nodes each.
  const auto network = topology::Network::parse("switches:2").value();
  const auto topology = nodes_in_groups(8, 4, 8).with_network(network).value();
  FlowRules rules;
  rules.targets = 2;
  rules.stripe_bytes = 16 << 10;
  rules.most_messages_by_node = 7;
  const auto flows_with = [&](std::int64_t most) {
    rules.most_messages_by_node = most;
    return flows_of_plan(messages(32, 1024), topology, two_phase(1, 16 << 10), rules).value();
  };
  EXPECT_EQ(flows_with(7).sources, Sources::nodes);
  for (const std::int64_t most : {0, 4, 6}) {  // at the first message, in the second piece
    const auto flows = flows_with(most);
    ASSERT_EQ(flows.sources, Sources::switches);
    ASSERT_EQ(flows.clients.size(), 1U);
    const Client& client = flows.clients[0];
    ASSERT_EQ(client.operations.size(), 2U);
    // On the aggregator's own switch only the other node sends.
    EXPECT_THAT(sources_of(client, client.operations[0]),
                ElementsAre(Share{0, 4096, 4}, Share{1, 8192, 8}));
    EXPECT_THAT(sources_of(client, client.operations[1]),
                ElementsAre(Share{2, 8192, 16}, Share{3, 8192, 24}));
    const auto targets = client.targets(client.operations[1]);
    EXPECT_THAT(std::vector<Share>(targets.begin(), targets.end()),
                ElementsAre(Share{1, 16 << 10}));
    EXPECT_EQ(flows.messages, 7);
    EXPECT_EQ(flows.message_bytes, 7 * 4096);
  }
}

TEST(Flows, WithoutSwitchesMoreMessagesHaveNoSources) {
  FlowRules rules;
  rules.most_messages_by_node = 2;
  const auto flows =
      flows_of_plan(messages(16, 1024), nodes_in_groups(4, 4, 4), two_phase(1, 1 << 20), rules)
          .value();
  EXPECT_EQ(flows.sources, Sources::none);
  EXPECT_THAT(sources_of(flows.clients[0], flows.clients[0].operations[0]), ElementsAre());
  EXPECT_EQ(flows.message_bytes, 3 * 4096);
}

TEST(Flows, EveryRankCopiesItsShareAndTheAggregatorWhatMessagesBring) {
  FlowRules rules;
  rules.with_copies = true;
  // 2 nodes of 2 ranks, whose bytes go to an aggregator on the first node.
  const auto topology = nodes_in_groups(2, 2, 2);
  const auto flows =
      flows_of_plan(messages(4, 1024), topology, two_phase(1, 1 << 20), rules).value();
  ASSERT_EQ(flows.clients.size(), 1U);
  const Client& client = flows.clients[0];
  ASSERT_EQ(client.operations.size(), 1U);
  const auto copies = client.copies_of(client.operations[0]);
  EXPECT_THAT(std::vector<Copy>(copies.begin(), copies.end()),
              ElementsAre(Copy{0, 0, 1024}, Copy{1, 0, 1024}, Copy{2, 1, 1024}, Copy{3, 1, 1024},
                          Copy{client.rank, 0, 2048}));
  rules.most_copies = 5;
  EXPECT_TRUE(flows_of_plan(messages(4, 1024), topology, two_phase(1, 1 << 20), rules));
  rules.most_copies = 4;
  const auto refused = flows_of_plan(messages(4, 1024), topology, two_phase(1, 1 << 20), rules);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 4 copies: give fewer ranks"));
}

TEST(Flows, NobodyCopiesWhatRanksWriteThemselves) {
  FlowRules rules;
  rules.with_copies = true;
  plan::Parameters direct;
  direct.strategy = plan::Strategy::direct;
  direct.buffer_bytes = 1 << 20;
  const auto flows =
      flows_of_plan(messages(4, 1024), nodes_in_groups(2, 2, 2), direct, rules).value();
  ASSERT_EQ(flows.clients.size(), 4U);
  for (const Client& client : flows.clients) EXPECT_TRUE(client.copies.empty());
}

TEST(Flows, TurnsGoToTheFirstClientOfEveryGroupFirst) {
  const auto flows =
      flows_of_plan(messages(128, 1024), nodes_in_groups(32, 4, 8), two_phase(2, 1 << 20), {})
          .value();
  std::set<std::int64_t> turns;
  std::set<std::int64_t> groups_of_first;
  for (const Client& client : flows.clients) {
    turns.insert(client.turn);
    if (client.turn < 4) groups_of_first.insert(client.group);
  }
  EXPECT_EQ(turns.size(), 8U);
  EXPECT_EQ(*turns.rbegin(), 7);
  EXPECT_EQ(groups_of_first.size(), 4U);
}

TEST(Flows, TooManyOperationsAreRefused) {
  FlowRules rules;
  rules.most_operations = 3;
  const auto flows =
      flows_of_plan(messages(128, 1024), nodes_in_groups(32, 4, 8), two_phase(2, 1 << 20), rules);
  ASSERT_FALSE(flows);
  EXPECT_THAT(flows.error().message, HasSubstr("more than 3 operations: give a larger buffer"));
}

TEST(Flows, TooManyClientsAreRefused) {
  FlowRules rules;
  rules.most_clients = 7;
  const auto flows =
      flows_of_plan(messages(128, 1024), nodes_in_groups(32, 4, 8), two_phase(2, 1 << 20), rules);
  ASSERT_FALSE(flows);
  EXPECT_THAT(flows.error().message, HasSubstr("more than 7 clients would move bytes"));
}

}  // namespace
}  // namespace weir::sim

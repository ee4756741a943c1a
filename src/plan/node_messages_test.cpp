#include "plan/node_messages.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "plan/meeting_blocks.hpp"
#include "plan/rank_pieces.hpp"
#include "plan/test_requests.hpp"

namespace weir::plan {
namespace {

// From the definition: bytes of the blocks that a rank and a piece have in common.
std::int64_t bytes_in_common(const Plan& plan, const Piece& piece, std::int64_t rank) {
  std::int64_t bytes = 0;
  MeetingBlocks blocks(plan, piece, rank);
  for (MeetingBlock block; blocks.next(block);) bytes += block.bytes;
  return bytes;
}

void check_messages(const Plan& plan, const Piece& piece,
                    const std::vector<NodeMessage>& messages) {
  const topology::Topology& topology = plan.topology();
  const std::int64_t own_node = topology.node_of(plan.rank_of(piece.id.aggregator));
  std::map<std::int64_t, std::int64_t> expected;  // bytes, by rank
  for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
    if (topology.node_of(rank) == own_node) continue;
    if (Plan::group_of(topology, plan.parameters().strategy, rank) != plan.group()) continue;
    const std::int64_t bytes = bytes_in_common(plan, piece, rank);
    if (bytes > 0) expected[rank] = bytes;
  }
  std::map<std::int64_t, std::int64_t> found;
  std::set<std::int64_t> nodes;
  for (const NodeMessage& message : messages) {
    // One message a node, since nothing is asked for twice.
    ASSERT_TRUE(nodes.insert(message.node).second);
    ASSERT_EQ(*nodes.rbegin(), message.node);
    ASSERT_NE(message.share_of(message.courier), nullptr);
    std::int64_t end = 0;
    std::int64_t last = -1;
    for (const NodeShare& share : message.shares) {
      ASSERT_EQ(topology.node_of(share.rank), message.node);
      ASSERT_GT(share.rank, last);
      ASSERT_EQ(share.offset, end);
      ASSERT_EQ(message.share_of(share.rank), &share);
      found[share.rank] = share.bytes;
      last = share.rank;
      end += share.bytes;
    }
    ASSERT_EQ(message.bytes, end);
    ASSERT_LE(message.bytes, piece.bytes);
    // The node's own ranks come to the same message.
    ASSERT_EQ(node_messages(plan, piece.id, plan.contributors_on(message.node, piece)),
              std::vector{message});
  }
  ASSERT_EQ(found, expected);
}

TEST(NodeMessages, HoldTheSharesOfANodesRanksSideBySide) {
  RandomRequests random(20241);
  int shared = 0;
  constexpr int rounds = array::rounds(300);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const Request request = random.request(random.chance(50) ? Direction::write : Direction::read);
    const auto topology = random.topology(request.ranks());
    Parameters parameters = random.parameters(8);
    if (parameters.strategy == Strategy::direct) parameters.strategy = Strategy::two_phase;
    for (std::int64_t group = 0; group < Plan::groups(topology, parameters.strategy); ++group) {
      const auto plan = Plan::create(request, topology, parameters, group).value();
      for (std::int64_t aggregator = 0; aggregator < plan->aggregators(); ++aggregator) {
        AggregatorPieces pieces(plan, aggregator);
        for (Piece piece; pieces.next(piece);) {
          const auto messages = node_messages(*plan, piece.id, plan->contributors(piece));
          ASSERT_NO_FATAL_FAILURE(check_messages(*plan, piece, messages));
          for (const NodeMessage& message : messages) shared += message.shares.size() > 1 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(shared, rounds / 3);  // enough of them have several shares
}

// 6 ranks on 2 nodes, each of which reads all of 4 numbers; the aggregator is rank 0.
class WhatAllRead : public testing::Test {
 protected:
  static std::vector<NodeMessage> messages_with(std::int64_t buffer_bytes) {
    const auto shape = array::Shape::create({4}).value();
    array::BoxList boxes(1);
    for (int rank = 0; rank < 6; ++rank) boxes.push_back(shape.box());
    const std::vector<std::int64_t> one_each(6, 1);
    const auto image =
        FileImage::create(shape, array::ElementKind::int64, array::Order::row_major, 0).value();
    const auto held = array::ExplicitDistribution::create(shape, one_each, boxes).value();
    const Request request{Direction::read, {{image, {held}, array::Section::of(shape.box()), 0}}};
    const Parameters parameters{Strategy::two_phase, 1, buffer_bytes, 1};
    const auto plan =
        Plan::create(request, topology::Topology::filled(6, 3).value(), parameters).value();
    const Piece piece = plan->piece({0, 0, 0, 0, 0});
    return node_messages(*plan, piece.id, plan->contributors(piece));
  }
};

TEST_F(WhatAllRead, IsOneMessageAsLongAsItFitsIntoABuffer) {
  const auto messages = messages_with(3 * 32);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].bytes, 3 * 32);
}

TEST_F(WhatAllRead, IsSeveralMessagesWhereItDoesNot) {
  const auto messages = messages_with(3 * 32 - 1);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].bytes, 2 * 32);
  EXPECT_EQ(messages[1].bytes, 32);
  EXPECT_EQ(messages[1].shares, (std::vector<NodeShare>{{5, 32, 0}}));
  EXPECT_EQ(messages[1].courier, 5);
}

}  // namespace
}  // namespace weir::plan

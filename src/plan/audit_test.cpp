#include "plan/audit.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::plan {
namespace {

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
  const Parameters parameters{Strategy::two_phase, 4, 512, 512, DomainDealing::striped};
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
  EXPECT_EQ(found.messages_per_piece.least, 6);
  EXPECT_EQ(found.messages_per_piece.most, 6);
  EXPECT_EQ(found.nodes_per_piece.most, 3);
  EXPECT_EQ(found.bytes_per_message.mean, 64);
  EXPECT_EQ(found.messages, 48);
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

TEST(Audit, RefusesWhatPlansRefuse) {
  const auto topology = topology::Topology::filled(8, 2).value();
  EXPECT_FALSE(audit(columns_of(8, 64, 9), topology, {}, {}).ok());
}

}  // namespace
}  // namespace weir::plan

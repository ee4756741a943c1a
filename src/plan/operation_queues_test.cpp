#include "plan/operation_queues.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace weir::plan {
namespace {

constexpr std::int64_t stripe = 1 << 20;

// Each of `ranks` ranks has `stripes` stripes of a file, one rank's behind the other's.
Request blocks(std::int64_t ranks, std::int64_t stripes, Direction direction = Direction::write) {
  const auto shape = array::Shape::create({ranks * stripes * stripe}).value();
  const auto held = array::RegularDistribution::create(
                        shape, std::vector{array::DistributionFormat::block_of()}, {{ranks}})
                        .value();
  const auto image =
      FileImage::create(shape, array::ElementKind::uint8, array::Order::row_major, 0).value();
  return {direction, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

// A stripe takes a second at a target.
PlatformRates rates_of(std::int64_t targets, const Turns& turns = {}) {
  PlatformRates rates;
  rates.by_flows = true;
  rates.write.storage_bytes_per_second = static_cast<double>(targets * stripe);
  rates.write.turns = turns;
  rates.read = rates.write;
  return rates;
}

topology::FileTargets targets_of(std::int64_t count) {
  topology::FileTargets targets;
  targets.count = count;
  targets.stripe_bytes = stripe;
  return targets;
}

Parameters with(Strategy strategy, std::int64_t aggregators = 1) {
  Parameters parameters;
  parameters.strategy = strategy;
  parameters.aggregators = aggregators;
  parameters.buffer_bytes = stripe;
  parameters.alignment = stripe;
  return parameters;
}

double seconds(const Request& request, std::int64_t nodes, std::int64_t targets,
               const Parameters& parameters, const Turns& turns = {}) {
  const std::int64_t ranks = request.ranks();
  const auto topology = topology::Topology::filled(ranks, ranks / nodes).value();
  return queue_seconds(request, topology, targets_of(targets), rates_of(targets, turns), parameters)
      .value()
      .value();
}

TEST(OperationQueues, ACallerFollowsItsStripes) {
  EXPECT_DOUBLE_EQ(seconds(blocks(1, 5), 1, 8, with(Strategy::node_aggregation)), 5);
}

TEST(OperationQueues, CallersAtOneTargetStayTogether) {
  // Both begin at target 0, and each stripe of two callers takes two seconds.
  EXPECT_DOUBLE_EQ(seconds(blocks(2, 4), 2, 4, with(Strategy::node_aggregation)), 8);
  // The second one begins at target 3.
  EXPECT_DOUBLE_EQ(seconds(blocks(2, 3), 2, 6, with(Strategy::node_aggregation)), 3);
}

TEST(OperationQueues, OneWithMoreStripesTakesLonger) {
  // Two aggregators share five stripes as three and two.
  EXPECT_DOUBLE_EQ(seconds(blocks(5, 1), 1, 16, with(Strategy::node_aggregation, 2)), 3);
  EXPECT_DOUBLE_EQ(seconds(blocks(5, 1), 1, 16, with(Strategy::node_aggregation, 5)), 1);
}

TEST(OperationQueues, TurnsOfANodeFollowEachOther) {
  const Turns slow = {.call_seconds = 3};
  // Two ranks of a node with a stripe each: 3 s for the first turn, then 3 for the second one.
  EXPECT_DOUBLE_EQ(seconds(blocks(2, 1), 1, 8, with(Strategy::direct), slow), 6);
  EXPECT_DOUBLE_EQ(seconds(blocks(2, 1), 2, 8, with(Strategy::direct), slow), 3);
  const Turns short_ones = {.call_seconds = 0.25};
  EXPECT_DOUBLE_EQ(seconds(blocks(2, 1), 1, 8, with(Strategy::direct), short_ones), 1.25);
  const Turns copying = {.bytes_per_second = static_cast<double>(stripe) / 2};
  EXPECT_DOUBLE_EQ(seconds(blocks(2, 1), 1, 8, with(Strategy::direct), copying), 4);
}

TEST(OperationQueues, SoManyAreUnderWayBehindAWay) {
  const Turns two = {.call_seconds = 0.25, .calls_at_once = 2};
  // The third one of the node begins when the first one has ended, after a second.
  EXPECT_DOUBLE_EQ(seconds(blocks(3, 1), 1, 8, with(Strategy::direct), two), 2);
  const Turns all = {.call_seconds = 0.25, .calls_at_once = 3};
  EXPECT_DOUBLE_EQ(seconds(blocks(3, 1), 1, 8, with(Strategy::direct), all), 1.5);
}

TEST(OperationQueues, AnAggregatorOfSeveralNodesWaitsForMessages) {
  // Each of four operations of a second, but the last one, is followed by a tenth.
  EXPECT_NEAR(seconds(blocks(2, 2), 2, 8, with(Strategy::two_phase)), 4.3, 1e-9);
  EXPECT_NEAR(seconds(blocks(2, 2), 1, 8, with(Strategy::two_phase)), 4, 1e-9);
}

TEST(OperationQueues, AreNotGoneThroughIfTheyAreTooMany) {
  const auto topology = topology::Topology::filled(1, 1).value();
  const auto of = [&](std::int64_t stripes) {
    return queue_seconds(blocks(1, stripes), topology, targets_of(8), rates_of(8),
                         with(Strategy::node_aggregation))
        .value();
  };
  EXPECT_DOUBLE_EQ(of(1 << 14).value(), 1 << 14);
  EXPECT_FALSE(of((1 << 14) + 1).has_value());
}

TEST(OperationQueues, NeedStripesAndARate) {
  const auto topology = topology::Topology::filled(1, 1).value();
  const Parameters parameters = with(Strategy::node_aggregation);
  EXPECT_FALSE(queue_seconds(blocks(1, 2), topology, targets_of(1), rates_of(1), parameters)
                   .value()
                   .has_value());
  EXPECT_FALSE(queue_seconds(blocks(1, 2), topology, targets_of(2), rates_of(0), parameters)
                   .value()
                   .has_value());
}

}  // namespace
}  // namespace weir::plan

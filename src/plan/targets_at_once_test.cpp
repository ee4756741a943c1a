#include "plan/targets_at_once.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "plan/choice.hpp"
#include "plan/test_machines.hpp"

namespace weir::plan {
namespace {

constexpr std::int64_t stripe = 4096;
constexpr std::int64_t target_count = 8;

topology::FileTargets eight_targets() {
  topology::FileTargets targets;
  targets.count = target_count;
  targets.stripe_bytes = stripe;
  return targets;
}

// Each of 16 ranks, two on a node, has so many stripes of a file.
double at_once(Strategy strategy, std::int64_t stripes_of_a_rank, std::int64_t aggregators,
               const topology::FileTargets& targets) {
  constexpr std::int64_t ranks = 16;
  const auto topology = topology::Topology::filled(ranks, 2).value();
  const Request request = stretches_of(ranks * stripes_of_a_rank * stripe / 8, ranks);
  const Parameters parameters{strategy, aggregators, stripe, stripe};
  return targets_at_once(request, topology, targets, parameters).value();
}

TEST(TargetsAtOnce, RanksThatBeginAtDifferentTargetsUseAll) {
  EXPECT_EQ(at_once(Strategy::direct, 1, 1, eight_targets()), target_count);
  // Nine stripes are one more than a turn, so that the next rank begins one target further.
  EXPECT_GE(at_once(Strategy::direct, 9, 1, eight_targets()), target_count);
}

TEST(TargetsAtOnce, PartsOfWholeTurnsBeginAtTheSameTarget) {
  EXPECT_EQ(at_once(Strategy::node_aggregation, target_count, 1, eight_targets()), 1);
  // Parts of a node are three turns and three stripes long: nodes begin at different targets.
  EXPECT_GE(at_once(Strategy::node_aggregation, 13, 1, eight_targets()), target_count);
  // A rank by itself moves its stripes at a time, each to another target.
  EXPECT_EQ(at_once(Strategy::direct, target_count, 1, eight_targets()), target_count);
}

TEST(TargetsAtOnce, RowsOverAllStripesAreOnAllTargets) {
  // Each rank has a column of a file of one turn, and so begins at the first target.
  const auto topology = topology::Topology::filled(16, 2).value();
  const Request request = blocks_of({target_count, stripe / 8}, {1, 16});
  const Parameters direct{Strategy::direct, 1, stripe * target_count, stripe};
  EXPECT_EQ(targets_at_once(request, topology, eight_targets(), direct).value(), target_count);
}

TEST(TargetsAtOnce, AShortFileIsOnFewTargets) {
  const auto topology = topology::Topology::filled(16, 2).value();
  for (const std::int64_t stripes : {1, 3}) {
    const Request request = stretches_of(stripes * stripe / 8, 16);
    const Parameters two_phase{Strategy::two_phase, 1, stripe, stripe};
    EXPECT_EQ(targets_at_once(request, topology, eight_targets(), two_phase).value(), stripes);
  }
}

TEST(TargetsAtOnce, OneTargetIsOne) {
  topology::FileTargets one;
  EXPECT_EQ(at_once(Strategy::direct, 3, 1, one), 1);
  one.count = target_count;  // and no stripes
  EXPECT_EQ(at_once(Strategy::direct, 3, 1, one), target_count);
}

TEST(TargetsAtOnce, AMachineOfFlowsPaysForThoseThatMeet) {
  const auto topology = topology::Topology::filled(64, 2).value();
  const Request request = stretches_of(64 * target_count * stripe / 8, 64);
  PlatformRates rates;
  rates.write.storage_bytes_per_second = 1e6;
  Overrides overrides;
  overrides.buffer_bytes = stripe;
  const auto seconds_of = [&](Strategy strategy) {
    overrides.strategy = strategy;
    return choose(request, topology, eight_targets(), rates, overrides).value().chosen.seconds;
  };
  EXPECT_LT(seconds_of(Strategy::node_aggregation), 2 * seconds_of(Strategy::two_phase));
  rates.by_flows = true;
  EXPECT_GT(seconds_of(Strategy::node_aggregation), 3 * seconds_of(Strategy::two_phase));
}

}  // namespace
}  // namespace weir::plan

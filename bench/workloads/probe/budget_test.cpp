#include "workloads/probe/budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weir::bench::probe {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr std::int64_t MiB = 1 << 20;

double seconds_of_round(const std::vector<Cost>& costs, const std::vector<std::int64_t>& counts) {
  double seconds = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    seconds +=
        costs[i].overhead_seconds + costs[i].seconds_per_operation * static_cast<double>(counts[i]);
  }
  return seconds;
}

TEST(PlanOperations, SharesTheRoundByWeight) {
  const std::vector<Cost> costs{
      {.seconds_per_operation = 0.001, .most_operations = 1000000},
      {.seconds_per_operation = 0.001, .most_operations = 1000000, .weight = 3}};
  const auto counts = plan_operations(costs, 4.0);
  EXPECT_NEAR(static_cast<double>(counts[0]), 1000, 1);
  EXPECT_NEAR(static_cast<double>(counts[1]), 3000, 1);
}

TEST(PlanOperations, GivesWhatOneCannotUseToTheOthers) {
  const std::vector<Cost> costs{{.seconds_per_operation = 0.001, .most_operations = 10},
                                {.seconds_per_operation = 0.001, .most_operations = 1000000}};
  EXPECT_EQ(plan_operations(costs, 1.0)[0], 10);
  EXPECT_NEAR(static_cast<double>(plan_operations(costs, 1.0)[1]), 990, 1);
}

TEST(PlanOperations, CountsTheOverheads) {
  const std::vector<Cost> costs{
      {.seconds_per_operation = 0.01, .overhead_seconds = 0.5, .most_operations = 1000000}};
  EXPECT_LE(seconds_of_round(costs, plan_operations(costs, 1.0)), 1.0);
  EXPECT_NEAR(seconds_of_round(costs, plan_operations(costs, 1.0)), 1.0, 0.011);
}

TEST(PlanOperations, MakesOneOfEachWhereThereIsNoTime) {
  const std::vector<Cost> costs(3, {.seconds_per_operation = 2, .most_operations = 100});
  EXPECT_THAT(plan_operations(costs, 1.0), Each(1));
  EXPECT_THAT(plan_operations(costs, -1.0), Each(1));
}

TEST(PlanOperations, MakesTheLeastWhereThereIsNoTimeAndNeverMoreThanTheMost) {
  const std::vector<Cost> costs{
      {.seconds_per_operation = 0.01, .least_operations = 6, .most_operations = 100},
      {.seconds_per_operation = 0.01, .least_operations = 6, .most_operations = 5}};
  EXPECT_THAT(plan_operations(costs, 0.02), ElementsAre(6, 5));
  EXPECT_THAT(plan_operations(costs, 0.155), ElementsAre(10, 5));
}

TEST(NextPilot, GrowsUntilItTakesLongEnough) {
  EXPECT_EQ(next_pilot(1, 0.001, 0.1, 100), 8);
  EXPECT_EQ(next_pilot(1, 0.03, 0.1, 100), 3);
  EXPECT_EQ(next_pilot(4, 0.09, 0.1, 100), 8);
  EXPECT_EQ(next_pilot(64, 0.001, 0.1, 100), 100);
  EXPECT_EQ(next_pilot(100, 0.001, 0.1, 100), 100);
  EXPECT_EQ(next_pilot(4, 0.2, 0.1, 100), 4);
}

TEST(LeadInBytes, CoverATenthOfASecondOfSlowStorage) {
  EXPECT_EQ(lead_in_bytes(0.12, 50e6, 1, MiB, MiB, 64 * MiB), 6 * MiB);
  EXPECT_EQ(lead_in_bytes(0.12, 25e6, 2, MiB, MiB, 64 * MiB), 3 * MiB);
}

TEST(LeadInBytes, AreBoundedOverAllRanks) {
  EXPECT_EQ(lead_in_bytes(0.12, 5e9, 1, MiB, MiB, 64 * MiB), 32 * MiB);
  EXPECT_EQ(lead_in_bytes(0.12, 5e9, 8, MiB, MiB, 64 * MiB), 4 * MiB);
}

TEST(LeadInBytes, LeaveHalfAndOneOperation) {
  EXPECT_EQ(lead_in_bytes(0.12, 50e6, 1, MiB, MiB, 4 * MiB), 2 * MiB);
  EXPECT_EQ(lead_in_bytes(0.12, 50e6, 1, MiB, 16 * MiB, 20 * MiB), 4 * MiB);
  EXPECT_EQ(lead_in_bytes(0.12, 50e6, 1, MiB, 16 * MiB, 16 * MiB), 0);
}

TEST(AnotherRound, MakesTheLeastNumberAndStaysInTime) {
  EXPECT_TRUE(another_round(2, 99, 30, 50));
  EXPECT_FALSE(another_round(3, 45, 6, 50));
  EXPECT_TRUE(another_round(3, 40, 6, 50));
}

TEST(Shuffled, IsAPermutationThatDependsOnTheSeedAlone) {
  const auto first = shuffled(100, 1);
  EXPECT_EQ(first, shuffled(100, 1));
  EXPECT_NE(first, shuffled(100, 2));
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
  EXPECT_THAT(shuffled(1, 7), ElementsAre(0));
}

TEST(OverheadWithLeadIn, GrowsByTheBytesAtTheRate) {
  EXPECT_DOUBLE_EQ(overhead_with_lead_in(0.1, 0, 50, 100), 0.6);
  EXPECT_DOUBLE_EQ(overhead_with_lead_in(0.1, 50, 50, 100), 0.1);
}

TEST(OverheadWithLeadIn, ShrinksByNoMoreThanItsShare) {
  EXPECT_DOUBLE_EQ(overhead_with_lead_in(1, 50, 40, 100), 0.9);
  // 23.9 MB took 0.125 s; at the rate of a single operation they would have taken 3.5 s.
  const double rest = overhead_with_lead_in(0.125, 23'900'000, 800'000, 6.8e6);
  EXPECT_DOUBLE_EQ(rest, 0.125 * 8 / 239);
  EXPECT_DOUBLE_EQ(overhead_with_lead_in(0.125, 100, 0, 1), 0);
}

}  // namespace
}  // namespace weir::bench::probe

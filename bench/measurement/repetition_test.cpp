#include "measurement/repetition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace weir::bench {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

// 10, 20, …: the order statistic x_k is 10 k. Shuffled, as repetitions come in no order.
std::vector<double> tens(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 10.0 * static_cast<double>(i + 1);
  std::shuffle(values.begin(), values.end(), std::mt19937(42));
  return values;
}

void expect_interval(std::size_t count, double confidence, double low, double high,
                     double coverage) {
  SCOPED_TRACE(testing::Message() << count << " values at " << confidence);
  const MedianInterval interval = median_interval(tens(count), confidence);
  EXPECT_DOUBLE_EQ(interval.median, 5.0 * static_cast<double>(count + 1));
  EXPECT_DOUBLE_EQ(interval.low, low);
  EXPECT_DOUBLE_EQ(interval.high, high);
  EXPECT_NEAR(interval.confidence, coverage, 1e-9);
}

// Coverage of [x_k, x_(n+1-k)] is 1 - 2 (C(n,0) + … + C(n,k-1)) / 2^n.
TEST(MedianIntervalTest, CoversAsTheBinomialSays) {
  expect_interval(6, 0.95, 10, 60, 1 - 2.0 / 64);                             // [x1, x6]
  expect_interval(8, 0.95, 10, 80, 1 - 2.0 / 256);                            // k = 2 covers 0.9297
  expect_interval(9, 0.95, 20, 80, 1 - 2.0 * (1 + 9) / 512);                  // [x2, x8], 0.9609
  expect_interval(10, 0.95, 20, 90, 1 - 2.0 * (1 + 10) / 1024);               // [x2, x9], 0.9785
  expect_interval(20, 0.95, 60, 150, 1 - 2.0 * 21700 / 1048576);              // [x6, x15], 0.9586
  expect_interval(10, 0.99, 10, 100, 1 - 2.0 / 1024);                         // [x1, x10]
  expect_interval(7, 0.5, 30, 50, 1 - 2.0 * (1 + 7) / 128 - 2.0 * 21 / 128);  // [x3, x5], 0.5469
}

TEST(MedianIntervalTest, TooFewValuesGiveTheirWholeRangeWithTheCoverageItHas) {
  expect_interval(1, 0.95, 10, 10, 0.0);
  expect_interval(2, 0.95, 10, 20, 0.5);
  expect_interval(3, 0.95, 10, 30, 0.75);
  expect_interval(5, 0.95, 10, 50, 0.9375);
}

TEST(MedianIntervalTest, LargeCountsApproachTheNormalDistribution) {
  // n/2 ± 1.96 sqrt(n)/2: for 10,000 values the ranks 4902 and 5099.
  const MedianInterval interval = median_interval(tens(10'000));
  EXPECT_NEAR(interval.low, 49'020, 10);
  EXPECT_NEAR(interval.high, 50'990, 10);
  EXPECT_GE(interval.confidence, 0.95);
  EXPECT_NEAR(interval.confidence, 0.95, 0.002);
}

// The claim itself: of many samples, the share whose interval holds the true median.
TEST(MedianIntervalTest, CoversTheTrueMedianAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> skewed(1.0);
  const double true_median = std::log(2.0);
  constexpr int samples = 20'000;
  int covered = 0;
  double promised = 0;
  for (int sample = 0; sample < samples; ++sample) {
    std::vector<double> values(9);
    for (double& value : values) value = skewed(random);
    const MedianInterval interval = median_interval(values);
    if (interval.low <= true_median && true_median <= interval.high) ++covered;
    promised = interval.confidence;
  }
  EXPECT_NEAR(static_cast<double>(covered) / samples, promised, 0.006);  // four standard errors
}

TEST(MedianIntervalTest, NoValuesGiveNothing) {
  const MedianInterval interval = median_interval({});
  EXPECT_EQ(interval.confidence, 0);
  EXPECT_EQ(interval.median, 0);
}

TEST(OutliersTest, MarksWhatLiesFarFromTheQuartiles) {
  // Quartiles 2 and 4 (NumPy's percentile), so the fences are -1 and 7.
  EXPECT_THAT(outliers(std::vector<double>{1, 2, 3, 4, 100}),
              ElementsAre(false, false, false, false, true));
  EXPECT_THAT(outliers(std::vector<double>{3, -50, 4, 1, 2}),
              ElementsAre(false, true, false, false, false));
  EXPECT_THAT(outliers(std::vector<double>{1, 2, 3, 4, 7}), Each(false));
  EXPECT_THAT(outliers(std::vector<double>{1, 2, 3, 4, 7.01}),
              ElementsAre(false, false, false, false, true));
  EXPECT_THAT(outliers(std::vector<double>{5, 5, 5, 5}), Each(false));
}

TEST(OutliersTest, FewValuesHaveNone) {
  EXPECT_THAT(outliers({}), SizeIs(0));
  EXPECT_THAT(outliers(std::vector<double>{1, 1, 1000}), ElementsAre(false, false, false));
}

TEST(ConvergedTest, NeedsTheCoverageAndTheWidth) {
  const RepetitionPolicy policy;
  const std::vector<double> steady = {100, 101, 99, 100.5, 99.5, 100};
  EXPECT_TRUE(converged(policy, steady));
  // Five values cover 93.75 % at most, however steady.
  EXPECT_FALSE(converged(policy, std::span(steady).first(5)));
  EXPECT_TRUE(converged({.confidence = 0.9}, std::span(steady).first(5)));
  EXPECT_FALSE(converged({.minimum = 7}, steady));
  EXPECT_FALSE(converged({.half_width = 0.005}, steady));
}

TEST(ConvergedTest, BothEndsMustLieWithinTheHalfWidth) {
  const RepetitionPolicy policy;
  EXPECT_TRUE(converged(policy, std::vector<double>{95, 100, 100, 100, 100, 105}));
  EXPECT_FALSE(converged(policy, std::vector<double>{94.9, 100, 100, 100, 100, 100}));
  EXPECT_FALSE(converged(policy, std::vector<double>{100, 100, 100, 100, 100, 105.1}));
  EXPECT_FALSE(converged({.minimum = 0}, {}));
}

}  // namespace
}  // namespace weir::bench

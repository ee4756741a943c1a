#include "measurement/histogram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace weir::bench {
namespace {

using testing::ElementsAreArray;

LatencyHistogram of(const std::vector<std::int64_t>& samples) {
  LatencyHistogram histogram;
  for (const std::int64_t sample : samples) histogram.record(sample);
  return histogram;
}

// Latencies over the whole range, evenly by order of magnitude.
std::vector<std::int64_t> many_samples(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(6.0, 42.0);
  std::vector<std::int64_t> samples(count);
  for (auto& sample : samples) sample = static_cast<std::int64_t>(std::exp2(exponent(random)));
  return samples;
}

void expect_equal(const LatencyHistogram& a, const LatencyHistogram& b) {
  EXPECT_THAT(a.counts(), ElementsAreArray(b.counts()));
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.min_ns(), b.min_ns());
  EXPECT_EQ(a.max_ns(), b.max_ns());
}

TEST(LatencyHistogramTest, BucketsTileTheRangeWithoutGaps) {
  EXPECT_EQ(LatencyHistogram::lower_bound_ns(0), 64);
  EXPECT_EQ(LatencyHistogram::lower_bound_ns(LatencyHistogram::buckets), std::int64_t{1} << 42);
  for (int bucket = 0; bucket < LatencyHistogram::buckets; ++bucket) {
    const std::int64_t lower = LatencyHistogram::lower_bound_ns(bucket);
    const std::int64_t upper = LatencyHistogram::lower_bound_ns(bucket + 1);
    ASSERT_LT(lower, upper);
    ASSERT_LE((upper - lower) * LatencyHistogram::sub_buckets, lower);
    ASSERT_EQ(LatencyHistogram::bucket_of(lower), bucket);
    ASSERT_EQ(LatencyHistogram::bucket_of(upper - 1), bucket);
  }
}

TEST(LatencyHistogramTest, WhatLiesOutsideCountsInTheOutermostBuckets) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(LatencyHistogram::bucket_of(0), 0);
  EXPECT_EQ(LatencyHistogram::bucket_of(63), 0);
  EXPECT_EQ(LatencyHistogram::bucket_of(std::int64_t{1} << 42), LatencyHistogram::buckets - 1);
  EXPECT_EQ(LatencyHistogram::bucket_of(largest), LatencyHistogram::buckets - 1);

  const LatencyHistogram histogram = of({3, largest});
  EXPECT_EQ(histogram.min_ns(), 3);
  EXPECT_EQ(histogram.max_ns(), largest);
  EXPECT_EQ(histogram.percentile_ns(0.0), 3);
  EXPECT_EQ(histogram.percentile_ns(1.0), largest);
}

TEST(LatencyHistogramTest, AnEmptyOneHasNoFigures) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.min_ns(), 0);
  EXPECT_EQ(histogram.max_ns(), 0);
  EXPECT_EQ(histogram.percentile_ns(0.5), 0);
}

TEST(LatencyHistogramTest, CountsANegativeDurationAsNone) {
  const LatencyHistogram histogram = of({-5});
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.min_ns(), 0);
  EXPECT_EQ(histogram.max_ns(), 0);
}

TEST(LatencyHistogramTest, PercentilesLieWithinOneBucketOfTheSamples) {
  for (const std::size_t count : {1U, 2U, 3U, 10U, 999U, 20'000U}) {
    std::vector<std::int64_t> samples = many_samples(count, 1);
    const LatencyHistogram histogram = of(samples);
    std::ranges::sort(samples);
    for (const double fraction : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
      const double position = std::ceil(fraction * static_cast<double>(count));
      const auto rank = std::clamp<std::size_t>(static_cast<std::size_t>(position), 1, count);
      const std::int64_t exact = samples[rank - 1];
      const std::int64_t estimate = histogram.percentile_ns(fraction);
      EXPECT_EQ(LatencyHistogram::bucket_of(estimate), LatencyHistogram::bucket_of(exact))
          << fraction << " of " << count;
      EXPECT_GE(estimate, samples.front());
      EXPECT_LE(estimate, samples.back());
    }
  }
}

TEST(LatencyHistogramTest, MergingInAnyOrderEqualsRecordingInOne) {
  std::vector<LatencyHistogram> parts;
  std::vector<std::int64_t> all;
  for (unsigned rank = 0; rank < 5; ++rank) {
    const std::vector<std::int64_t> samples = many_samples(1000 + rank, rank);
    parts.push_back(of(samples));
    all.insert(all.end(), samples.begin(), samples.end());
  }
  parts.emplace_back();  // a rank without operations
  const LatencyHistogram whole = of(all);

  LatencyHistogram forwards;
  for (const LatencyHistogram& part : parts) forwards.merge(part);
  expect_equal(forwards, whole);

  LatencyHistogram pairs = parts[3];
  pairs.merge(parts[1]);
  LatencyHistogram others = parts[4];
  others.merge(parts[0]);
  others.merge(parts[2]);
  pairs.merge(others);
  expect_equal(pairs, whole);

  std::ranges::reverse(parts);
  LatencyHistogram backwards;
  for (const LatencyHistogram& part : parts) backwards.merge(part);
  expect_equal(backwards, whole);
}

TEST(LatencyHistogramTest, IsMadeAgainFromItsCounters) {
  const LatencyHistogram whole = of(many_samples(500, 9));
  expect_equal(LatencyHistogram::from_counts(whole.counts(), whole.min_ns(), whole.max_ns()),
               whole);
  const LatencyHistogram empty;
  expect_equal(LatencyHistogram::from_counts(empty.counts(), 7, 7), empty);
}

TEST(LatencyHistogramTest, ACounterAtItsLimitStaysThere) {
  constexpr std::uint32_t limit = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> counts(LatencyHistogram::buckets, 0);
  counts[10] = limit - 2;
  LatencyHistogram histogram = LatencyHistogram::from_counts(counts, 84, 85);
  const std::int64_t sample = LatencyHistogram::lower_bound_ns(10);

  LatencyHistogram recorded = histogram;
  for (int i = 0; i < 5; ++i) recorded.record(sample);
  EXPECT_EQ(recorded.counts()[10], limit);
  EXPECT_EQ(recorded.count(), limit);

  histogram.merge(of({sample, sample, sample, 1'000'000}));
  EXPECT_EQ(histogram.counts()[10], limit);
  EXPECT_EQ(histogram.count(), std::uint64_t{limit} + 1);
  EXPECT_EQ(histogram.max_ns(), 1'000'000);
}

}  // namespace
}  // namespace weir::bench

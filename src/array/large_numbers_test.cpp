// Arrays and jobs beyond what can be enumerated. Work is counted, in blocks visited and tree nodes
// opened, not timed.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "array/chunk_grid.hpp"
#include "array/copy.hpp"
#include "array/distribution.hpp"
#include "array/layout.hpp"
#include "array/linear_range.hpp"
#include "array/region.hpp"
#include "array/test_extents.hpp"

namespace weir::array {
namespace {

constexpr std::int64_t million_ranks = 1048576;

// 2^40 x 2^14 x 2^8 elements over 2^20 ranks: 64 x 128 x 128.
RegularDistribution distribute(const DistributionFormat& first, const DistributionFormat& others) {
  const std::vector<DistributionFormat> formats = {first, others, others};
  return RegularDistribution::create(Shape::create({tebi, 16384, 256}).value(), formats,
                                     {{64, 128, 128}, Order::row_major})
      .value();
}

// The boxes of `part` inside a file domain, a range of the elements in row-major order, counted;
// with the elements in them.
struct Work {
  std::int64_t boxes = 0;
  std::int64_t uniform_regions = 0;
  std::int64_t elements = 0;
};

Work meet_file_domain(const Region& part, const Shape& shape, std::int64_t first,
                      std::int64_t last) {
  Work work;
  RangeBoxes boxes(shape, Order::row_major, first, last);
  for (Box box; boxes.next(box);) {
    ++work.boxes;
    const Region inside = part.clipped(box);
    work.elements += inside.elements();
    UniformRegions uniforms(inside);
    for (UniformRegion uniform; uniforms.next(uniform);) ++work.uniform_regions;
  }
  return work;
}

TEST(LargeNumbers, OneRankOfAMillionKnowsItsPartOfABlockDistribution) {
  const auto distribution =
      distribute(DistributionFormat::block_of(), DistributionFormat::block_of());
  ASSERT_EQ(distribution.ranks(), million_ranks);
  const std::int64_t rank = 777777;
  const Region part = distribution.part(rank);
  EXPECT_EQ(part.elements(), tebi / 64 * 128 * 2);
  EXPECT_TRUE(part.is_box());
  EXPECT_EQ(distribution.owner(part.bounding_box().lower), rank);
  // All ranks together, in closed form.
  std::int64_t all = 0;
  for (std::int64_t other = 0; other < million_ranks; other += 4096) {
    all += distribution.elements(other);
  }
  EXPECT_EQ(all * 4096, distribution.shape().elements());
}

TEST(LargeNumbers, FileDomainMeetsACyclicPartInAFewRegionsNotInItsBlocks) {
  const auto distribution =
      distribute(DistributionFormat::cyclic_of(1000), DistributionFormat::cyclic_of(3));
  const Shape& shape = distribution.shape();
  const Region part = distribution.part(777777);
  EXPECT_GT(part.boxes(), std::int64_t{1} << 24);
  // One of 1000 file domains of equal size, its ends inside rows.
  const std::int64_t domain = shape.elements() / 1000;
  const Work work = meet_file_domain(part, shape, 500 * domain + 77, 501 * domain + 77);
  EXPECT_LE(work.boxes, 5);
  EXPECT_LE(work.uniform_regions, 5 * 27);
  EXPECT_GT(work.elements, 0);
  // All of the file's domains together hold the whole part.
  std::int64_t all = 0;
  for (std::int64_t number = 0; number < 1000; ++number) {
    const std::int64_t last = number == 999 ? shape.elements() : (number + 1) * domain;
    all += meet_file_domain(part, shape, number * domain, last).elements;
  }
  EXPECT_EQ(all, part.elements());
}

std::int64_t count_of(RanksMeeting& ranks) {
  std::int64_t count = 0;
  for (RanksMeeting::Share share; ranks.next(share);) ++count;
  return count;
}

TEST(LargeNumbers, FileDomainMeetsOnlyTheRanksThatHoldIt) {
  const auto distribution =
      distribute(DistributionFormat::block_of(), DistributionFormat::block_of());
  // 1000 rows in the last two dimensions' first blocks: one rank.
  RanksMeeting few(distribution, Region(Box{{5, 0, 0}, {1000, 128, 2}}));
  EXPECT_EQ(count_of(few), 1);
  EXPECT_EQ(few.looked_at(), 3);
  RanksMeeting plane(distribution, Region(Box{{5, 0, 0}, {1000, 16384, 256}}));
  EXPECT_EQ(count_of(plane), 128 * 128);
  EXPECT_EQ(plane.looked_at(), 1 + 128 + 128);
  // One index in 2^34 along the first dimension lies on one process of 64 after the other.
  RanksMeeting sparse(distribution, Region(Section{{0, 0, 0}, {64, 1, 1}, {tebi / 64, 1, 1}}));
  EXPECT_EQ(count_of(sparse), 64);
  EXPECT_EQ(sparse.looked_at(), 64 + 1 + 1);
}

// The ranks of a node are consecutive ones of 2^20: what others hold is not counted.
TEST(LargeNumbers, SomeRanksCostNoMoreThanTheyAre) {
  const auto distribution =
      distribute(DistributionFormat::block_of(), DistributionFormat::cyclic_of());
  const Region all(distribution.shape().box());
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{777}, std::int64_t{128 * 128 - 3},
                                   distribution.ranks() - 64}) {
    RanksMeeting some(distribution, all, first, first + 64);
    std::int64_t rank = first;
    for (RanksMeeting::Share share; some.next(share); ++rank) {
      EXPECT_EQ(share, (RanksMeeting::Share{rank, distribution.elements(rank)}));
    }
    EXPECT_EQ(rank, first + 64);
    // Three boxes of the grid at most, and two more processes for each.
    EXPECT_LE(some.looked_at(), 64 + 3 * 2) << first;
  }
}

TEST(LargeNumbers, RunsOfARowBeyondTwoToTheFortyBytesHaveRightOffsets) {
  const Layout file = Layout::packed({tebi, 64, 64}, 16, Order::row_major).value();
  const auto copied_to = [&](const Box& box) {
    const Layout dense = Layout::packed(box.extent, 16, Order::row_major).value();
    const Box whole{Indices(box.extent.size()), box.extent};
    return StridedCopy::between(uniform_box(whole), dense, uniform_box(box), file);
  };
  const StridedCopy runs = copied_to({{tebi - 2, 1, 3}, {2, 2, 4}});
  EXPECT_EQ(runs.bytes, 64);
  EXPECT_EQ(runs.runs(), 4);
  EXPECT_EQ(runs.to_offset, ((tebi - 2) * 4096 + 64 + 3) * 16);
  // Half of each of 2^40 planes is still one level.
  const StridedCopy halves = copied_to({{0, 0, 0}, {tebi, 32, 64}});
  EXPECT_EQ(halves.bytes, 32 * 64 * 16);
  ASSERT_EQ(halves.levels.size(), 1);
  EXPECT_EQ(halves.levels[0], (CopyLevel{tebi, 32768, 65536}));
}

TEST(LargeNumbers, BlocksWithoutACommonPeriodAreFoundWithoutLookingBetween) {
  // Strides without a common divisor: their period, about 2^60, is longer than the dimension. A has
  // 2^10 blocks and B as many; nearly none of them meet.
  const std::int64_t stride = (std::int64_t{1} << 30) + 1;
  const IndexBlocks a = IndexBlocks::periodic(0, 1000, stride, tebi);
  const IndexBlocks b = IndexBlocks::periodic(500, 1000, stride - 2, tebi);
  CommonBlocks sets(a, b);
  std::int64_t visited = 0;
  std::int64_t size = 0;
  for (IndexBlocks common; sets.next(common); ++visited) size += common.size();
  std::int64_t expected = 0;
  std::int64_t meeting = 0;
  for (std::int64_t block = 0; block < a.blocks(); ++block) {
    const Interval interval = a.block(block);
    const std::int64_t common = b.clipped(interval.lower, interval.upper).size();
    expected += common;
    meeting += common > 0 ? 1 : 0;
  }
  EXPECT_EQ(size, expected);
  EXPECT_EQ(visited, meeting);
  EXPECT_LT(visited, a.blocks());
  EXPECT_LE(sets.looked_at(), visited + 2);  // the first and the last block may be cut
  // A dimension of 2^61 indices and 2^31 blocks in each: the first common one is found at once.
  const std::int64_t end = std::int64_t{1} << 61;
  CommonBlocks far(IndexBlocks::periodic(0, 2, stride, end),
                   IndexBlocks::periodic(stride / 2, 2, stride - 2, end));
  IndexBlocks common;
  ASSERT_TRUE(far.next(common));
  EXPECT_GT(common.lower(), std::int64_t{1} << 40);
  EXPECT_LE(common.size(), 2);
  EXPECT_LE(far.looked_at(), 2);
  // 2^21 differences of starts make blocks meet, and A has 2^22 blocks; but the period is beyond
  // the dimension, and five strides of A are 19 short of eight of B, so only some meet.
  const std::int64_t wide = std::int64_t{1} << 20;
  const std::int64_t gibi = std::int64_t{1} << 30;
  CommonBlocks few(IndexBlocks::periodic(0, wide, gibi + 1, tebi * 4096),
                   IndexBlocks::periodic(0, wide, gibi / 8 * 5 + 3, tebi * 4096));
  std::int64_t found = 0;
  while (few.next(common)) ++found;
  EXPECT_GT(found, 0);
  EXPECT_LE(few.looked_at(), found + 2);
  EXPECT_LT(found, 1 << 20);
}

TEST(LargeNumbers, ChunksOfTwoToTheFortyRowsAreNumberedAndPlaced) {
  const Shape shape = Shape::create({tebi + 1, 100, 100}).value();
  const ChunkGrid grid = ChunkGrid::create(shape, {1024, 30, 30}).value();
  EXPECT_EQ(grid.counts(), (Indices{tebi / 1024 + 1, 4, 4}));
  EXPECT_EQ(grid.box(grid.chunks() - 1), (Box{{tebi, 90, 90}, {1, 10, 10}}));
  // A section of 3 far rows meets 3 chunks; the 2^30 layers between them are not visited.
  ChunksMeeting chunks(grid, Region(Section{{0, 0, 0}, {3, 1, 1}, {tebi / 2, 1, 1}}));
  int count = 0;
  for (std::int64_t chunk = 0; chunks.next(chunk);) ++count;
  EXPECT_EQ(count, 3);
}

// A refined mesh: 100,000 boxes of 16 x 16 x 16 on a lattice, one overlap among them or none.
TEST(LargeNumbers, HundredThousandBoxesAreCheckedWithoutAllPairs) {
  constexpr std::int64_t side = 16;
  BoxList boxes(3);
  const auto corner = [&](std::int64_t number) {
    return Indices{number % 50 * side, number / 50 % 50 * side, number / 2500 * side};
  };
  // 7919 is prime to 100,000: every place once, in an order without locality.
  for (std::int64_t number = 0; number < 100000; ++number) {
    boxes.push_back({corner(number * 7919 % 100000), {side, side, side}});
  }
  const Shape shape = Shape::create({50 * side, 50 * side, 40 * side}).value();
  const std::vector<std::int64_t> per_rank(1000, 100);
  const auto distribution = ExplicitDistribution::create(shape, per_rank, boxes).value();
  EXPECT_TRUE(distribution.check_disjoint().ok());

  std::int64_t opened = 0;
  for (std::int64_t number = 0; number < boxes.size(); number += 100) {
    std::int64_t found = 0;
    opened += distribution.boxes().visit_meeting(boxes[number],
                                                 [&](std::int64_t) { return ++found > 0; });
    ASSERT_EQ(found, 1);
  }
  EXPECT_LT(opened, 1000 * 100);  // of about 32,000 nodes per query

  boxes.push_back({{401, 401, 401}, {2, 2, 2}});
  const std::vector<std::int64_t> one_rank = {boxes.size()};
  const auto overlapping = ExplicitDistribution::create(shape, one_rank, boxes).value();
  const auto overlap = overlapping.boxes().overlapping(100000);
  ASSERT_TRUE(overlap.has_value());
  EXPECT_TRUE(boxes[*overlap].contains({401, 401, 401}));
}

}  // namespace
}  // namespace weir::array

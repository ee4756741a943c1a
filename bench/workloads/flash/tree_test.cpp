#include "workloads/flash/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weir::bench::flash {
namespace {

std::vector<BlockRecord> all_of(const Tree& tree) { return tree.records(0, tree.blocks()); }

TEST(Tree, HasAsManyBlocksAsWanted) {
  for (const std::int64_t blocks : {1, 2, 7, 8, 9, 10, 38, 39, 96, 777, 5000}) {
    EXPECT_EQ(Tree(blocks).blocks(), blocks);
  }
}

TEST(Tree, LeavesFillTheDomainOnce) {
  const Tree tree(303);  // 7 roots
  double volume = 0;
  for (const BlockRecord& block : all_of(tree)) {
    if (block.node_type == 1) volume += block.size[0] * block.size[1] * block.size[2];
  }
  EXPECT_DOUBLE_EQ(volume, 7);
}

TEST(Tree, RelativesKnowEachOther) {
  const std::vector<BlockRecord> blocks = all_of(Tree(777));
  std::int64_t parents = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const BlockRecord& block = blocks[i];
    const auto number = static_cast<std::int32_t>(i + 1);
    for (std::size_t face = 0; face < faces_of_block; ++face) {
      const std::int32_t other = block.relatives[face];
      if (other < 0) continue;
      const BlockRecord& neighbour = blocks[static_cast<std::size_t>(other - 1)];
      EXPECT_EQ(neighbour.level, block.level);
      EXPECT_EQ(neighbour.relatives[face ^ 1U], number);
      EXPECT_EQ(neighbour.bounds[face ^ 1U], block.bounds[face]);
    }
    for (std::size_t child = 0; child < children_of_block; ++child) {
      const std::int32_t other = block.relatives[faces_of_block + 1 + child];
      EXPECT_EQ(other < 0, block.node_type == 1);
      if (other < 0) continue;
      const BlockRecord& below = blocks[static_cast<std::size_t>(other - 1)];
      EXPECT_EQ(below.relatives[faces_of_block], number);
      EXPECT_EQ(below.which_child, static_cast<std::int32_t>(child + 1));
      EXPECT_EQ(below.level, block.level + 1);
      EXPECT_GT(other, number);
    }
    parents += block.node_type == 1 ? 0 : 1;
  }
  EXPECT_EQ(parents, 97);
}

// Returns whether the blocks have a point in common.
bool touch(const BlockRecord& a, const BlockRecord& b) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (a.bounds[2 * axis] > b.bounds[2 * axis + 1] || b.bounds[2 * axis] > a.bounds[2 * axis + 1])
      return false;
  }
  return true;
}

TEST(Tree, LeavesThatTouchDifferByOneLevelAtMost) {
  std::vector<BlockRecord> leaves = all_of(Tree(4001));
  std::erase_if(leaves, [](const BlockRecord& block) { return block.node_type != 1; });
  std::set<std::int32_t> levels;
  for (const BlockRecord& one : leaves) {
    levels.insert(one.level);
    for (const BlockRecord& other : leaves) {
      if (!touch(one, other)) continue;
      EXPECT_LE(std::abs(one.level - other.level), 1);
    }
  }
  EXPECT_GE(levels.size(), 3U);  // otherwise nothing was tested
}

TEST(Tree, TheShellIsRefinedMost) {
  const std::vector<BlockRecord> blocks = all_of(Tree(1 + 8 * 200));
  std::int32_t finest = 0;
  for (const BlockRecord& block : blocks) finest = std::max(finest, block.level);
  for (const BlockRecord& block : blocks) {
    if (block.level != finest) continue;
    double square = 0;
    for (const double along : block.centre) square += (along - 0.5) * (along - 0.5);
    EXPECT_NEAR(std::sqrt(square), 0.25, 4 * block.size[0]);
  }
}

TEST(BlockDistribution, SharesFollowOneAnotherAndHaveTheAverage) {
  for (const std::int64_t ranks : {1, 4, 5, 64}) {
    const BlockDistribution distribution(9.6, ranks, 1);
    std::int64_t next = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const BlockShare share = distribution.share(rank);
      EXPECT_EQ(share.first, next);
      EXPECT_TRUE(share.count == 9 || share.count == 10);
      for (std::int64_t block = share.first; block < share.first + share.count; ++block) {
        EXPECT_EQ(distribution.rank_of(block), rank);
      }
      next += share.count;
    }
    EXPECT_EQ(next, distribution.blocks());
    EXPECT_EQ(distribution.blocks(), std::llround(9.6 * static_cast<double>(ranks)));
  }
}

TEST(BlockDistribution, TheSeedDecidesWhoHasMore) {
  const auto shares = [](std::uint64_t seed) {
    const BlockDistribution distribution(2.5, 64, seed);
    std::vector<std::int64_t> counts(64);
    std::int64_t rank = 0;
    for (std::int64_t& count : counts) count = distribution.share(rank++).count;
    return counts;
  };
  EXPECT_EQ(shares(1), shares(1));
  EXPECT_NE(shares(1), shares(2));
}

}  // namespace
}  // namespace weir::bench::flash

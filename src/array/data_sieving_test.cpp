#include "array/data_sieving.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace weir::array {
namespace {

TEST(DataSieving, TakesHolesThatCostNoMoreThanACall) {
  const TransferCost cost = {2e-6, 4e9};  // 8000 bytes take as long as a call
  EXPECT_EQ(widest_hole(cost), 8000);
  EXPECT_TRUE(moves_along(8000, widest_hole(cost)));
  EXPECT_FALSE(moves_along(8001, widest_hole(cost)));
  // A hole that is rewritten passes twice.
  EXPECT_EQ(widest_hole(cost, HoleUse::rewritten), 4000);
  // Runs that follow each other have a hole of 0 bytes; a step back has none.
  EXPECT_TRUE(moves_along(0, 0));
  EXPECT_FALSE(moves_along(-1, 8000));
  EXPECT_FALSE(moves_along(0, -1));
  EXPECT_EQ(widest_hole({0, 4e9}), 0);
}

TEST(DataSieving, HasABoundWhateverCallsCost) {
  EXPECT_EQ(widest_hole({262143e-9, 1e9}), most_hole_bytes - 1);
  EXPECT_EQ(widest_hole({262144e-9, 1e9}), most_hole_bytes);
  EXPECT_EQ(widest_hole({262145e-9, 1e9}), most_hole_bytes);
  EXPECT_EQ(widest_hole({3600, 1e12}), most_hole_bytes);
}

TEST(DataSieving, TakesWiderHolesOfColdFiles) {
  EXPECT_EQ(widest_hole_of_read(cached_read, false), 8 << 10);
  EXPECT_EQ(widest_hole_of_read(cached_read, true), 128 << 10);
  // Calls that cost more than an access to storage decide also for cold files.
  const TransferCost slow = {200e-6, 1e9};
  EXPECT_EQ(widest_hole_of_read(slow, false), 200000);
  EXPECT_EQ(widest_hole_of_read(slow, true), 200000);
}

TEST(DataSieving, JoinsTheLevelsThatHaveNarrowHoles) {
  // Pairs of runs of 10 bytes with a hole of 90; 5 pairs with holes of 390; 3 groups, 10000 apart.
  StridedCopy copy;
  copy.bytes = 10;
  copy.levels.push_back({3, 0, 10000});
  copy.levels.push_back({5, 0, 500});
  copy.levels.push_back({2, 0, 100});
  const auto together = [&](std::int64_t widest, std::int64_t most) {
    const RunsTogether found = runs_together(copy, widest, most);
    return std::pair(found.level, found.bytes);
  };
  using Found = std::pair<int, std::int64_t>;
  EXPECT_EQ(together(89, 1 << 20), Found(3, 10));
  EXPECT_EQ(together(90, 1 << 20), Found(2, 110));
  EXPECT_EQ(together(389, 1 << 20), Found(2, 110));
  EXPECT_EQ(together(390, 1 << 20), Found(1, 2110));
  EXPECT_EQ(together(7889, 1 << 20), Found(1, 2110));
  EXPECT_EQ(together(7890, 1 << 20), Found(0, 22110));
  // The bytes from the first run to the last have a bound, too.
  EXPECT_EQ(together(7890, 22110), Found(0, 22110));
  EXPECT_EQ(together(7890, 22109), Found(1, 2110));
  EXPECT_EQ(together(7890, 110), Found(2, 110));
  EXPECT_EQ(together(7890, 109), Found(3, 10));
  EXPECT_EQ(together(-1, 1 << 20), Found(3, 10));
}

TEST(DataSieving, JoinsRunsWithoutHolesForAWrite) {
  StridedCopy rows;  // rows that follow each other in the file and are apart in memory
  rows.bytes = 64;
  rows.levels.push_back({4, 4096, 256});
  rows.levels.push_back({4, 100, 64});
  EXPECT_EQ(runs_together(rows, 0, 1 << 20).bytes, 1024);
  rows.levels[1].to_stride = 65;  // one byte between them
  EXPECT_EQ(runs_together(rows, 0, 1 << 20).bytes, 64);
  rows.levels[1].to_stride = 63;  // they overlap
  EXPECT_EQ(runs_together(rows, 8192, 1 << 20).bytes, 64);
}

TEST(DataSieving, AnElementLongerThanTheBoundIsMovedAlone) {
  StridedCopy copy;
  copy.bytes = 100;
  copy.levels.push_back({2, 0, 100});
  EXPECT_EQ(runs_together(copy, 8192, 50).bytes, 100);
}

}  // namespace
}  // namespace weir::array

#include "stager/block_pool.hpp"

#include <gtest/gtest.h>

namespace weir::stager {
namespace {

TEST(BlockPool, GivesEachBlockOnceAndTheOneThatWasFreedLastFirst) {
  BlockPool pool(3, 0);
  EXPECT_FALSE(pool.has_free());
  EXPECT_FALSE(pool.is_used_up()) << "more can become ready";
  pool.add(2);
  EXPECT_EQ(pool.take(1), 0);
  EXPECT_EQ(pool.take(1), 1);
  EXPECT_FALSE(pool.is_used_up());
  pool.add(1);
  EXPECT_EQ(pool.take(2), 2);
  EXPECT_TRUE(pool.is_used_up());
  pool.give_back(0);
  pool.give_back(2);
  EXPECT_EQ(pool.take(2), 2);
  EXPECT_EQ(pool.take(2), 0);
  EXPECT_EQ(pool.of(1), 1);
  EXPECT_EQ(pool.of(2), 2);
}

TEST(BlockPool, CountsUpToTheLimitOfOneSession) {
  BlockPool pool(4, 2);
  pool.add(4);
  EXPECT_EQ(pool.room_of(7), 2);
  const std::int64_t first = pool.take(7);
  (void)pool.take(7);
  EXPECT_EQ(pool.room_of(7), 0);
  EXPECT_EQ(pool.room_of(8), 2) << "another session has its own share";
  pool.give_back(first);
  EXPECT_EQ(pool.room_of(7), 1);
}

TEST(BlockPool, IsUsedUpWhereNoMoreBecomesReady) {
  BlockPool pool(100, 0);
  pool.add(1);
  (void)pool.take(1);
  EXPECT_FALSE(pool.is_used_up());
  pool.end();
  EXPECT_TRUE(pool.is_used_up());
  EXPECT_EQ(pool.most(), 1);
}

}  // namespace
}  // namespace weir::stager

#include "stager/block_pool.hpp"

#include <gtest/gtest.h>

namespace weir::stager {
namespace {

TEST(BlockPool, GivesEachBlockOnceAndTheOneThatWasFreedLastFirst) {
  BlockPool pool(3, 0);
  EXPECT_FALSE(pool.has_free());
  EXPECT_FALSE(pool.is_used_up()) << "more can become ready";
  pool.add(2);
  EXPECT_EQ(pool.take(1, 1), 0);
  EXPECT_EQ(pool.take(1, 1), 1);
  EXPECT_FALSE(pool.is_used_up());
  pool.add(1);
  EXPECT_EQ(pool.take(2, 2), 2);
  EXPECT_TRUE(pool.is_used_up());
  pool.give_back(0);
  pool.give_back(2);
  EXPECT_EQ(pool.take(2, 2), 2);
  EXPECT_EQ(pool.take(2, 2), 0);
  EXPECT_EQ(pool.of(1), 1);
  EXPECT_EQ(pool.of(2), 2);
}

TEST(BlockPool, GivesARankTheBlocksAgainThatItHadBefore) {
  BlockPool pool(4, 0);
  pool.add(4);
  constexpr SessionId session = 1;
  EXPECT_EQ(pool.take(session, 7), 0);
  EXPECT_EQ(pool.take(session, 8), 1);
  EXPECT_EQ(pool.take(session, 7), 2);
  for (const std::int64_t block : {0, 2, 1}) pool.give_back(block);
  EXPECT_EQ(pool.free(), 4);
  EXPECT_EQ(pool.take(session, 8), 1);
  EXPECT_EQ(pool.take(session, 8), 3) << "no rank has had it";
  EXPECT_EQ(pool.take(session, 8), 0) << "rank 7 has given back the other one later";
  EXPECT_EQ(pool.take(session, 7), 2);
  EXPECT_TRUE(pool.is_used_up());
}

TEST(BlockPool, KeepsNoBlocksForARankThatHasLeft) {
  BlockPool pool(4, 0);
  pool.add(4);
  EXPECT_EQ(pool.take(1, 7), 0);
  EXPECT_EQ(pool.take(1, 7), 1);
  EXPECT_EQ(pool.take(2, 8), 2);
  pool.give_back(0);
  pool.forget(7);
  EXPECT_EQ(pool.free(), 2);
  pool.give_back(1);
  pool.give_back(2);
  EXPECT_EQ(pool.take(3, 9), 1);
  EXPECT_EQ(pool.take(3, 9), 0);
  EXPECT_EQ(pool.take(3, 9), 3) << "rank 8 would get its block again";
  EXPECT_EQ(pool.take(3, 9), 2);
  EXPECT_EQ(pool.of(1), 0);
  EXPECT_EQ(pool.of(3), 4);
}

TEST(BlockPool, CountsUpToTheLimitOfOneSession) {
  BlockPool pool(4, 2);
  pool.add(4);
  EXPECT_EQ(pool.room_of(7), 2);
  const std::int64_t first = pool.take(7, 7);
  (void)pool.take(7, 7);
  EXPECT_EQ(pool.room_of(7), 0);
  EXPECT_EQ(pool.room_of(8), 2) << "another session has its own share";
  pool.give_back(first);
  EXPECT_EQ(pool.room_of(7), 1);
}

TEST(BlockPool, IsUsedUpWhereNoMoreBecomesReady) {
  BlockPool pool(100, 0);
  pool.add(1);
  (void)pool.take(1, 1);
  EXPECT_FALSE(pool.is_used_up());
  pool.end();
  EXPECT_TRUE(pool.is_used_up());
  EXPECT_EQ(pool.most(), 1);
}

}  // namespace
}  // namespace weir::stager

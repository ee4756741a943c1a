#include "stager/spill_slots.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <vector>

namespace weir::stager {
namespace {

TEST(SpillSlots, FreesBlocksWhoseBytesHaveMoved) {
  SpillSlots slots(2);
  slots.begin(5, 1);
  slots.add(10, 100);
  slots.add(11, 200);
  slots.drop(11);
  EXPECT_EQ(slots.free(), 0);
  EXPECT_FALSE(slots.is_job(4));
  ASSERT_TRUE(slots.is_job(5));
  const auto moved = slots.end({});
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->free, (std::vector<std::int64_t>{10, 11}));
  ASSERT_EQ(moved->by_block.size(), 1U) << "nobody needs the other";
  EXPECT_EQ(moved->by_block.at(10).bytes, 100);
  EXPECT_EQ(slots.free(), 1);
  EXPECT_FALSE(slots.can_be_emptied()) << "a slot is in use";
  slots.free_slot(moved->by_block.at(10).slot);
  ASSERT_TRUE(slots.can_be_emptied());
  EXPECT_EQ(slots.empty(6).job, 6U);
  EXPECT_FALSE(slots.end({})) << "it was no move";
  EXPECT_FALSE(slots.can_be_emptied()) << "its space was given back already";
}

TEST(SpillSlots, GivesNoTwoBytesTheSameStamp) {
  SpillSlots slots(1);
  std::set<std::uint64_t> stamps;
  for (JobId job = 1; job <= 3; ++job) {
    slots.begin(job, 1);
    slots.add(0, 10);
    const auto moved = slots.end({});
    stamps.insert(moved->by_block.at(0).stamp);
    slots.free_slot(moved->by_block.at(0).slot);
  }
  EXPECT_EQ(stamps.size(), 3U);
}

TEST(SpillSlots, KeepsInMemoryWhatCouldNotMove) {
  SpillSlots slots(2);
  slots.begin(1, 1);
  slots.add(10, 100);
  slots.add(11, 100);
  slots.drop(10);
  Error full(ErrorCode::io, "no space");
  full.system_error = ENOSPC;
  const auto moved = slots.end(full);
  EXPECT_EQ(moved->free, std::vector<std::int64_t>{10}) << "nobody needs it";
  EXPECT_TRUE(moved->by_block.empty());
  EXPECT_EQ(slots.free(), 2);
  EXPECT_FALSE(slots.is_usable());
  slots.try_again();
  EXPECT_TRUE(slots.is_usable());
  slots.begin(2, 1);
  slots.add(11, 100);
  (void)slots.end(Error(ErrorCode::io, "the disk is broken"));
  slots.try_again();
  EXPECT_FALSE(slots.is_usable()) << "other failures last";
}

}  // namespace
}  // namespace weir::stager

// A stager takes only bytes for granted blocks from ranks that have shown over a network who they
// are, and no message that is meant for ranks of its own node.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "stager/test_remote_ranks.hpp"

namespace weir::stager {
namespace {

TEST_F(RemoteRanks, WhatCannotBeReadEndsTheSessionByName) {
  bring(enter(), 10);
  handle(Unreadable{client_, Error(ErrorCode::corrupt, "it was damaged", "10.0.0.2:4711")});
  const std::string line = "rank 0 of p is sent away by the stager on h: it was damaged";
  EXPECT_EQ(said_, line + " (10.0.0.2:4711)");
  ASSERT_TRUE(std::holds_alternative<transport::Refused>(last_));
  EXPECT_EQ(std::get<transport::Refused>(last_).reason, line);
  EXPECT_TRUE(has_ended());
  EXPECT_TRUE(stager_.is_idle());
  EXPECT_EQ(stager_.free_blocks(), 4);
}

TEST_F(RemoteRanks, AProgramThatIsLostIsNamedInALine) {
  constexpr const char* line =
      "p was lost: connections of its ranks, 1 in number, ended without a farewell. Accepted steps "
      "that are still to be stored: {}. Bytes of a step that had not ended, which are dropped: {}";
  const auto hand_over = [&](std::int64_t block) {
    bring(block, 10);
    bring(block, transport::extent_bytes, true);
    receive(transport::FilledBlock{block, 1}, std::vector<transport::BlockExtent>{{1, 0, 10}});
  };
  // A step was accepted, and of the next one a block was handed over and a part of another came.
  hand_over(enter());
  receive(transport::CommitStep{.path = "/f", .update = {}});
  receive(transport::Reserve{2});
  const std::vector<std::int64_t> blocks = std::get<transport::Granted>(last_).blocks;
  ASSERT_EQ(blocks.size(), 2U);
  hand_over(blocks.front());
  bring(blocks.back(), 7);
  handle(Disconnected{client_});
  EXPECT_EQ(said_, fmt::format(line, 1, 17));
  EXPECT_FALSE(stager_.is_idle());
  // Whoever says farewell is not lost.
  said_.clear();
  connect();
  knock();
  prove("secret");
  receive(transport::Hello{.session = {std::byte{8}}, .rank = 0, .program = "q"});
  receive(transport::Goodbye{});
  EXPECT_EQ(said_, "");
}

TEST_F(RemoteRanks, ARankThatCannotReadItsAnswersEndsItsSession) {
  bring(enter(), 10);
  receive(transport::Refused{"it was damaged"});
  EXPECT_EQ(said_, "rank 0 of p ends its session: it was damaged");
  EXPECT_TRUE(has_ended());
  EXPECT_TRUE(stager_.is_idle());
  EXPECT_EQ(stager_.free_blocks(), 4);
}

TEST_F(RemoteRanks, AStagerThatCannotBeReadOrCannotReadIsNamed) {
  connect(false);
  receive(transport::Hello{.session = {std::byte{9}}, .rank = 0, .program = "p"});
  const auto join = [&] {
    connect();
    receive(transport::Peer{.session = {std::byte{9}}, .secret = "of peers", .host = "h2"});
    const auto* const joined = std::get_if<transport::Joined>(&last_);
    EXPECT_TRUE(joined != nullptr && joined->outcome.status.ok());
  };
  join();
  handle(Unreadable{client_, Error(ErrorCode::corrupt, "it was damaged", "10.0.0.2:4711")});
  EXPECT_EQ(said_,
            "another stager of p is sent away by the stager on h: it was damaged (10.0.0.2:4711)");
  EXPECT_TRUE(has_ended());
  join();
  receive(transport::Refused{"it was damaged"});
  EXPECT_EQ(said_, "another stager of p ends the connection: it was damaged");
  EXPECT_TRUE(has_ended());
}

TEST_F(RemoteRanks, AStrangerThatCannotBeReadIsSentAway) {
  connect();
  handle(Unreadable{client_, Error(ErrorCode::corrupt, "it is no message", "10.0.0.2:4711")});
  EXPECT_EQ(said_,
            "somebody who has not said who it is is sent away by the stager on h: it is no "
            "message (10.0.0.2:4711)");
  EXPECT_TRUE(has_ended());
  EXPECT_EQ(stager_.strangers(), 0U);
}

TEST_F(RemoteRanks, DoNotUseWhatIsOfTheNode) {
  const std::vector<transport::Message> of_node = {transport::LockFile{"/f"},
                                                   transport::AskReport{}, transport::Stop{}};
  for (const transport::Message& one : of_node) {
    (void)enter();
    receive(one);
    EXPECT_TRUE(has_ended()) << one.index();
  }
  const std::vector<transport::Message> of_others = {
      transport::BlockBytes{0, false, {std::byte{1}}}, transport::TakeLock{"/f"},
      transport::Attach{{std::byte{1}}}};
  for (const transport::Message& one : of_others) {
    connect(false);
    receive(transport::Hello{.session = {std::byte{8}}, .rank = 0, .program = "p"});
    receive(one);
    EXPECT_TRUE(has_ended()) << one.index();
  }
}

TEST_F(RemoteRanks, FillBlocksFromBothEnds) {
  const std::int64_t block = enter();
  bring(block, 100);
  EXPECT_EQ(fill_->at, 0);
  bring(block, 50);
  EXPECT_EQ(fill_->at, 100);
  bring(block, 24, true);
  EXPECT_EQ(fill_->at, granted_bytes - 24);
  bring(block, 24, true);
  EXPECT_EQ(fill_->at, granted_bytes - 48);
  EXPECT_EQ(fill_->block, block);
  receive(transport::FilledBlock{block, 2},
          std::vector<transport::BlockExtent>{{1, 0, 90}, {1, 90, 60}});
  EXPECT_FALSE(has_ended());
}

TEST_F(RemoteRanks, FillNoOtherBlockAndNoMoreThanOne) {
  for (const std::int64_t wrong : {-1, 1, 2, 3, 4, 1 << 30}) {
    const std::int64_t block = enter();
    if (wrong == block) continue;
    bring(wrong, 1);
    EXPECT_FALSE(fill_) << wrong;
    EXPECT_TRUE(has_ended()) << wrong;
  }
  for (const bool at_end : {false, true}) {
    const std::int64_t block = enter();
    bring(block, granted_bytes - 10);
    bring(block, 11, at_end);
    EXPECT_FALSE(fill_);
    EXPECT_TRUE(has_ended());
  }
  bring(enter(), 0);
  EXPECT_FALSE(fill_);
  EXPECT_TRUE(has_ended());
  EXPECT_EQ(stager_.free_blocks(), 4) << "a block was lost";
}

TEST_F(RemoteRanks, HandOverOnlyWhatTheyHaveFilled) {
  const std::vector<std::vector<transport::BlockExtent>> wrong = {
      {{1, 0, 101}}, {{1, 0, 99}}, {{1, 0, 50}, {1, 60, 50}}};
  for (const auto& extents : wrong) {
    const std::int64_t block = enter();
    bring(block, 100);
    bring(block, 24, true);
    receive(transport::FilledBlock{block, std::ssize(extents)}, extents);
    EXPECT_TRUE(has_ended());
    EXPECT_EQ(stager_.free_blocks(), 4) << "a block was lost";
  }
  // A block that was handed over is the stager's.
  const std::int64_t block = enter();
  bring(block, 100);
  bring(block, 24, true);
  receive(transport::FilledBlock{block, 1}, std::vector<transport::BlockExtent>{{1, 0, 100}});
  EXPECT_FALSE(has_ended());
  bring(block, 1);
  EXPECT_TRUE(has_ended());
}

TEST_F(RemoteRanks, LetTheStagerTakeALock) {
  (void)enter();
  receive(transport::TakeLock{"/f"});
  ASSERT_TRUE(lock_);
  EXPECT_EQ(lock_->program, "p");
  handle(Tick{});
  EXPECT_TRUE(std::holds_alternative<transport::Alive>(last_));
  handle(JobEnded{lock_->job, invalid_argument("another run is writing it", "/f")});
  EXPECT_FALSE(std::get<transport::Locked>(last_).outcome.status.ok());
  receive(transport::TakeLock{"/f"});
  handle(JobEnded{lock_->job, {}});
  EXPECT_TRUE(std::get<transport::Locked>(last_).outcome.status.ok());
  receive(transport::TakeLock{"/g"});
  receive(transport::TakeLock{"/h"});
  EXPECT_TRUE(has_ended());
}

TEST_F(RemoteRanks, LeaveNoLockThatCameTooLate) {
  (void)enter();
  const ClientId first = client_;
  (void)enter();  // another rank of the session
  receive(transport::TakeLock{"/f"});
  handle(Disconnected{client_});
  handle(JobEnded{lock_->job, {}});
  EXPECT_EQ(unlocked_, "/f");
  handle(Disconnected{first});
  EXPECT_TRUE(stager_.is_idle());
}

}  // namespace
}  // namespace weir::stager

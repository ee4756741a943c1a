// What a stager takes over a network: nothing from who does not show who it is, and from who does,
// only bytes for blocks that it was granted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stager/stager.hpp"
#include "transport/authenticator.hpp"
#include "transport/proof.hpp"
#include "transport/test_credentials.hpp"

namespace weir::stager {
namespace {

using transport::Side;

constexpr std::int64_t granted_bytes = 1000;
const transport::Nonce of_rank{std::byte{1}};
const transport::Nonce of_stager{std::byte{2}};

class RemoteRanks : public testing::Test {
 protected:
  explicit RemoteRanks(const std::string& key = "secret", const std::string& ucx = "")
      : stager_({.blocks = 4,
                 .block_bytes = granted_bytes,
                 .name = "test",
                 .host = "h",
                 .secret = "of peers",
                 .rank_key = key,
                 .ucx = ucx}) {
    handle(BlocksReady{4});
  }

  void handle(const Event& event) {
    for (Action& action : stager_.handle(event)) {
      if (auto* const sent = std::get_if<Send>(&action)) {
        last_ = std::move(sent->message);
      } else if (const auto* const gone = std::get_if<Disconnect>(&action)) {
        ended_ = gone->client;
      } else if (const auto* const line = std::get_if<Say>(&action)) {
        said_ = line->line;
      } else if (const auto* const fill = std::get_if<Fill>(&action)) {
        fill_ = *fill;
      } else if (const auto* const lock = std::get_if<AcquireLock>(&action)) {
        lock_ = *lock;
      } else if (const auto* const unlock = std::get_if<Unlock>(&action)) {
        unlocked_ = unlock->path;
      } else if (auto* const check = std::get_if<CheckProof>(&action)) {
        asked_ = std::move(*check);
        if (!is_slow_) answer_check();
      } else if (std::holds_alternative<Trust>(action)) {
        trusts_ = true;
      } else if (const auto* const attach = std::get_if<AttachUcx>(&action)) {
        attached_ = attach->client;
      }
    }
  }
  // Does for the last CheckProof what the server does.
  void answer_check() {
    const Status checked = authenticator_->check(asked_.shown, asked_.awaited);
    handle(ProofChecked{asked_.client,
                        checked.ok() ? authenticator_->show(asked_.own) : checked.error()});
  }
  void receive(transport::Message message, Result<std::vector<transport::BlockExtent>> extents =
                                               std::vector<transport::BlockExtent>()) {
    handle(Received{client_, std::move(message), std::move(extents)});
  }
  void connect(bool is_remote = true) {
    handle(Connected{++client_, is_remote, of_stager});
    trusts_ = false;
  }
  void knock() { receive(transport::Knock{of_rank}); }
  void prove(const std::string& key, Side side = Side::rank) {
    const transport::Proof proof = transport::proof_of(side, key, of_rank, of_stager);
    receive(transport::Prove{{proof.begin(), proof.end()}});
  }
  // Becomes a rank that has been granted a block.
  std::int64_t enter() {
    connect();
    knock();
    prove("secret");
    receive(transport::Hello{.session = {std::byte{9}}, .rank = 0, .program = "p"});
    receive(
        transport::NameFile{.file = 1, .path = "/f", .bytes_when_made = 0, .known = std::nullopt});
    receive(transport::Reserve{1});
    EXPECT_TRUE(std::holds_alternative<transport::Granted>(last_));
    return std::get<transport::Granted>(last_).blocks.front();
  }
  void bring(std::int64_t block, std::int64_t bytes, bool at_end = false) {
    fill_.reset();
    receive(transport::BlockBytes{
        block, at_end, std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{7})});
  }
  void bring_piece(const transport::UcxPiece& piece, std::int64_t bytes) {
    fill_.reset();
    last_ = transport::Flush{};
    handle(Piece{client_, piece, bytes});
  }
  // Returns the bytes of a block that the rank was told of; 0: it was told nothing.
  [[nodiscard]] std::int64_t told() const {
    const auto* const brought = std::get_if<transport::Brought>(&last_);
    return brought == nullptr ? 0 : brought->bytes;
  }
  [[nodiscard]] bool has_ended() const { return ended_ == client_; }

  Stager stager_;
  std::unique_ptr<transport::Authenticator> authenticator_ = transport::make_cookie_authenticator();
  CheckProof asked_;
  bool is_slow_ = false;  // a CheckProof waits for answer_check()
  ClientId client_ = 0;
  transport::Message last_;
  ClientId ended_ = 0;
  std::string said_;
  bool trusts_ = false;
  std::optional<Fill> fill_;
  std::optional<AcquireLock> lock_;
  std::string unlocked_;
  ClientId attached_ = 0;
};

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

class OverUcx : public RemoteRanks {
 protected:
  OverUcx() : RemoteRanks("secret", "1.13") {}

  std::int64_t enter_and_attach() {
    const std::int64_t block = enter();
    receive(transport::Attach{{std::byte{1}}});
    EXPECT_EQ(attached_, client_);
    return block;
  }
};

constexpr uid_t own_user = 1000;

class ByMunge : public RemoteRanks {
 protected:
  ByMunge() { authenticator_ = side_of(own_user); }

  std::unique_ptr<transport::Authenticator> side_of(uid_t user) {
    return transport::make_munge_authenticator(
        std::make_unique<transport::TestCredentials>(&realm_, user), user);
  }
  // A rank of this user has connected, and returns what it shows.
  std::vector<std::byte> shown_by(uid_t user) {
    connect();
    knock();
    return side_of(user)
        ->show(transport::proof_of(Side::rank, "secret", of_rank, of_stager))
        .value();
  }
  // Why the rank was sent away.
  [[nodiscard]] std::string reason() const {
    const auto* const refused = std::get_if<transport::Refused>(&last_);
    return refused == nullptr || !has_ended() ? "" : refused->reason;
  }

  transport::TestRealm realm_;
};

class NodeAlone : public RemoteRanks {
 protected:
  NodeAlone() : RemoteRanks("") {}
};

TEST_F(RemoteRanks, AreServedWhenBothKnowTheSecret) {
  connect();
  EXPECT_EQ(stager_.strangers(), 1U);
  knock();
  const auto& challenge = std::get<transport::Challenge>(last_);
  EXPECT_EQ(challenge.nonce, of_stager);
  EXPECT_EQ(challenge.proof, transport::proof_of(Side::stager, "secret", of_rank, of_stager));
  EXPECT_FALSE(trusts_);
  prove("secret");
  const transport::Proof own = transport::proof_of(Side::stager, "secret", of_rank, of_stager);
  EXPECT_TRUE(authenticator_->check(std::get<transport::Vouch>(last_).shown, own).ok());
  EXPECT_TRUE(trusts_);
  EXPECT_EQ(stager_.strangers(), 0U);
  receive(transport::Hello{.session = {}, .rank = 0, .program = "p"});
  EXPECT_TRUE(std::holds_alternative<transport::Welcome>(last_));
}

TEST_F(RemoteRanks, AreSentAwayWithoutTheSecret) {
  connect();
  knock();
  prove("Secret");
  EXPECT_TRUE(has_ended());
  connect();
  prove("secret");  // before the challenge
  EXPECT_TRUE(has_ended());
  connect();
  knock();
  knock();
  EXPECT_TRUE(has_ended());
  connect();
  knock();  // what the stager shows is no proof of a rank
  prove("secret", Side::stager);
  EXPECT_TRUE(has_ended());
  EXPECT_FALSE(trusts_);
  EXPECT_EQ(stager_.strangers(), 0U);
}

TEST_F(RemoteRanks, SayNothingElseBefore) {
  const std::vector<transport::Message> others = {
      transport::Hello{.session = {}, .rank = 0, .program = "p"}, transport::AskReport{},
      transport::Stop{}, transport::Reserve{1}, transport::BlockBytes{0, false, {std::byte{1}}}};
  for (const transport::Message& one : others) {
    connect();
    receive(one);
    EXPECT_TRUE(has_ended()) << one.index();
    connect();
    knock();
    receive(one);
    EXPECT_TRUE(has_ended()) << one.index();
  }
}

TEST_F(RemoteRanks, HaveTenSecondsForTheProof) {
  connect();
  knock();
  for (int i = 0; i < 10; ++i) handle(Tick{});
  EXPECT_FALSE(has_ended());
  handle(Tick{});
  EXPECT_TRUE(has_ended());
}

TEST_F(RemoteRanks, WaitWhileTheirProofIsChecked) {
  is_slow_ = true;
  connect();
  knock();
  prove("secret");
  for (int i = 0; i < 20; ++i) handle(Tick{});
  EXPECT_FALSE(has_ended()) << "the check has a deadline of its own";
  EXPECT_EQ(stager_.strangers(), 1U);
  EXPECT_FALSE(trusts_);
  answer_check();
  EXPECT_TRUE(trusts_);
  trusts_ = false;
  answer_check();
  EXPECT_FALSE(trusts_ || has_ended()) << "there was one check";
}

TEST_F(RemoteRanks, SayNothingWhileTheirProofIsChecked) {
  is_slow_ = true;
  const std::vector<transport::Message> others = {
      transport::Knock{}, transport::Prove{}, transport::Peer{{}, "of peers", "h"},
      transport::Hello{.session = {}, .rank = 0, .program = "p"}, transport::Reserve{1}};
  for (const transport::Message& one : others) {
    connect();
    knock();
    prove("secret");
    receive(one);
    EXPECT_TRUE(has_ended()) << one.index();
    answer_check();
    EXPECT_FALSE(trusts_) << one.index();
  }
  connect();
  knock();
  prove("secret");
  handle(Disconnected{client_});
  answer_check();
  EXPECT_FALSE(trusts_);
  EXPECT_EQ(stager_.strangers(), 0U);
}

TEST_F(ByMunge, RanksOfTheUserAreServed) {
  receive(transport::Prove{shown_by(own_user)});
  EXPECT_TRUE(trusts_);
  const transport::Proof own = transport::proof_of(Side::stager, "secret", of_rank, of_stager);
  EXPECT_TRUE(side_of(own_user)->check(std::get<transport::Vouch>(last_).shown, own).ok());
}

TEST_F(ByMunge, OthersAreSentAwayWithTheReason) {
  receive(transport::Prove{shown_by(own_user + 1)});
  EXPECT_NE(reason().find("user 1001"), std::string::npos) << reason();
  const std::vector<std::byte> good = shown_by(own_user);
  receive(transport::Prove{good});
  EXPECT_TRUE(trusts_);
  (void)shown_by(own_user);
  receive(transport::Prove{good});
  EXPECT_EQ(reason(), "replayed");
  const std::vector<std::byte> old = shown_by(own_user);
  realm_.now += transport::TestRealm::seconds_to_live + 1;
  receive(transport::Prove{old});
  EXPECT_EQ(reason(), "expired");
  // What the stager has shown to one rank serves no other.
  receive(transport::Prove{shown_by(own_user)});
  const auto vouch = std::get<transport::Vouch>(last_);
  (void)shown_by(own_user);
  receive(transport::Prove{vouch.shown});
  EXPECT_NE(reason().find("something else"), std::string::npos) << reason();
  // The proof alone, as with a cookie.
  (void)shown_by(own_user);
  prove("secret");
  EXPECT_NE(reason(), "");
  realm_.answers = true;
  const std::vector<std::byte> last = shown_by(own_user);
  realm_.answers = false;
  receive(transport::Prove{last});
  EXPECT_EQ(reason(), "MUNGE does not answer");
  EXPECT_FALSE(trusts_);
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

TEST_F(NodeAlone, ServesNobodyOverANetwork) {
  connect();
  knock();
  EXPECT_TRUE(has_ended());
  connect();
  prove("");
  EXPECT_TRUE(has_ended());
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

TEST_F(OverUcx, IsOfferedToRanksOfOtherNodesAlone) {
  connect();
  knock();
  prove("secret");
  receive(transport::Hello{.session = {}, .rank = 0, .program = "p"});
  EXPECT_EQ(std::get<transport::Welcome>(last_).ucx, "1.13");
  connect(false);
  receive(transport::Hello{.session = {}, .rank = 1, .program = "p"});
  EXPECT_EQ(std::get<transport::Welcome>(last_).ucx, "");
}

TEST_F(OverUcx, IsAskedForOnce) {
  (void)enter_and_attach();
  EXPECT_FALSE(has_ended());
  receive(transport::Attach{{std::byte{1}}});
  EXPECT_TRUE(has_ended());
}

TEST_F(RemoteRanks, DoNotAskForUcxThatIsNotOffered) {
  (void)enter();
  receive(transport::Attach{{std::byte{1}}});
  EXPECT_TRUE(has_ended());
  EXPECT_EQ(attached_, 0U);
}

TEST_F(OverUcx, FillsBlocksFromBothEnds) {
  const std::int64_t block = enter_and_attach();
  bring_piece({.block = block, .total = 198}, 100);
  EXPECT_EQ(fill_->at, 0);
  EXPECT_EQ(told(), 0);
  bring_piece({.block = block, .at_end = true, .total = 198}, 48);
  EXPECT_EQ(fill_->at, granted_bytes - 48);
  EXPECT_EQ(told(), 0);
  bring_piece({.block = block, .before = 100, .total = 198}, 50);
  EXPECT_EQ(fill_->at, 100);
  EXPECT_EQ(told(), 198);
  EXPECT_NE(stager_.report().find(R"("carriers":[])"), std::string::npos);
  receive(transport::FilledBlock{block, 2},
          std::vector<transport::BlockExtent>{{1, 0, 90}, {1, 90, 60}});
  EXPECT_FALSE(has_ended());
  EXPECT_NE(stager_.report().find(R"("carriers":["UCX"])"), std::string::npos);
}

TEST_F(OverUcx, FillsNoOtherBlockAndNoMoreThanOne) {
  const std::int64_t most = granted_bytes;
  // Each is a piece, and how many bytes it has; only the last one, of the whole block, is right.
  struct Case {
    transport::UcxPiece piece;
    std::int64_t bytes;
    bool is_refused;
  };
  for (const Case& one : std::vector<Case>{{{.block = -1, .total = 10}, 10, true},
                                           {{.block = 4, .total = 10}, 10, true},
                                           {{.block = 1 << 30, .total = 10}, 10, true},
                                           {{.block = 0, .total = most + 1}, most + 1, true},
                                           {{.block = 0, .total = 10}, 0, true},
                                           {{.block = 0, .total = 9}, 10, true},
                                           {{.block = 0, .total = -1}, 10, true},
                                           {{.block = 0, .before = 1, .total = 11}, 10, true},
                                           {{.block = 0, .before = -1, .total = 10}, 10, true},
                                           {{.block = 0, .total = most}, most, false}}) {
    const std::int64_t block = enter_and_attach();
    transport::UcxPiece piece = one.piece;
    if (piece.block == 0) piece.block = block;
    bring_piece(piece, one.bytes);
    EXPECT_EQ(has_ended(), one.is_refused) << piece.block << " " << one.bytes;
    EXPECT_EQ(told(), one.is_refused ? 0 : most);
    EXPECT_EQ(fill_.has_value(), !one.is_refused);
    handle(Disconnected{client_});
    EXPECT_EQ(stager_.free_blocks(), 4) << "a block was lost";
  }
}

TEST_F(OverUcx, RefusesBytesThatCameTwiceOrInAnotherOrder) {
  std::int64_t block = enter_and_attach();
  bring_piece({.block = block, .total = 200}, 100);
  bring_piece({.block = block, .total = 200}, 100);
  EXPECT_TRUE(has_ended());
  block = enter_and_attach();
  bring_piece({.block = block, .at_end = true, .before = 24, .total = 48}, 24);
  EXPECT_TRUE(has_ended());
  // A block that was handed over is the stager's.
  block = enter_and_attach();
  bring_piece({.block = block, .total = 124}, 100);
  bring_piece({.block = block, .at_end = true, .total = 124}, 24);
  receive(transport::FilledBlock{block, 1}, std::vector<transport::BlockExtent>{{1, 0, 100}});
  EXPECT_FALSE(has_ended());
  bring_piece({.block = block, .before = 100, .total = 125}, 1);
  EXPECT_TRUE(has_ended());
  EXPECT_FALSE(fill_);
}

TEST_F(OverUcx, TakesNothingFromWhoHasLeftOrHasNotAsked) {
  const std::int64_t block = enter();
  bring_piece({.block = block, .total = 10}, 10);
  EXPECT_FALSE(fill_);
  EXPECT_FALSE(has_ended());
  handle(Disconnected{client_});
  bring_piece({.block = block, .total = 10}, 10);
  EXPECT_FALSE(fill_);
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

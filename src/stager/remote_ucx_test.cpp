// A stager takes bytes of ranks of other nodes over UCX, in pieces of messages.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "stager/test_remote_ranks.hpp"

namespace weir::stager {
namespace {

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
  // Each case is a piece, and how many bytes it has; only the last one, of the whole block, is
  // right.
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

TEST_F(OverUcx, RefusesDamagedBytes) {
  const std::int64_t block = enter_and_attach();
  bring_piece({.block = block, .total = 200}, 100);
  EXPECT_FALSE(has_ended());
  bring_piece({.block = block, .before = 100, .total = 200}, 100, false);
  EXPECT_TRUE(has_ended());
  EXPECT_FALSE(fill_);
  EXPECT_EQ(told(), 0);
  handle(Disconnected{client_});
  EXPECT_EQ(stager_.free_blocks(), 4) << "a block was lost";
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

}  // namespace
}  // namespace weir::stager

// The fixture of tests of ranks on other nodes: a stager's state machine, the messages that it gets
// from a rank, and what it does about them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stager/stager.hpp"
#include "transport/authenticator.hpp"
#include "transport/proof.hpp"

namespace weir::stager {

inline constexpr std::int64_t granted_bytes = 1000;
inline const transport::Nonce of_rank{std::byte{1}};
inline const transport::Nonce of_stager{std::byte{2}};

// A stager with four blocks, and ranks of another node, one after the other, that send it messages.
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
  void prove(const std::string& key, transport::Side side = transport::Side::rank) {
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
  void bring_piece(const transport::UcxPiece& piece, std::int64_t bytes, bool is_whole = true) {
    fill_.reset();
    last_ = transport::Flush{};
    handle(Piece{client_, piece, bytes, is_whole});
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

}  // namespace weir::stager

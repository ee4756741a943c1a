// A stager serves ranks over a network if they show who they are, by a secret or by MUNGE.
#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stager/test_remote_ranks.hpp"
#include "transport/test_credentials.hpp"

namespace weir::stager {
namespace {

using transport::Side;

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
  // Returns why the rank was sent away.
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
  // The stager's answer to one rank serves no other.
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

TEST_F(NodeAlone, ServesNobodyOverANetwork) {
  connect();
  knock();
  EXPECT_TRUE(has_ended());
  connect();
  prove("");
  EXPECT_TRUE(has_ended());
}

}  // namespace
}  // namespace weir::stager

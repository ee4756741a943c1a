// Each side takes some cookies and credentials as shown: at the limits, and one past them.
#include "transport/authenticator.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "transport/test_credentials.hpp"

namespace weir::transport {
namespace {

using Shown = std::vector<std::byte>;

constexpr uid_t own_user = 1000;

const Proof right_proof{std::byte{1}};
const Proof other_proof{std::byte{2}};

Shown bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class Munged : public testing::Test {
 protected:
  [[nodiscard]] Shown made_by(uid_t user, const Proof& proof = right_proof) {
    const auto shown =
        make_munge_authenticator(std::make_unique<TestCredentials>(&realm_, user), user)
            ->show(proof);
    return shown.value();
  }
  // Returns why this is refused; "": it is not.
  [[nodiscard]] std::string refusal(const Shown& shown) const {
    const Status checked = side_->check(shown, right_proof);
    return checked.ok() ? "" : checked.error().message;
  }

  TestRealm realm_;
  std::unique_ptr<Authenticator> side_ =
      make_munge_authenticator(std::make_unique<TestCredentials>(&realm_, own_user), own_user);
};

TEST(Authentications, HaveWords) {
  for (const Authentication one : {Authentication::cookie, Authentication::munge}) {
    EXPECT_EQ(parse_authentication(word_of(one)), one);
  }
  EXPECT_FALSE(parse_authentication("Munge"));
  EXPECT_FALSE(parse_authentication(""));
}

TEST(Cookies, AreTheProofItself) {
  const auto side = make_cookie_authenticator();
  const Shown shown = side->show(right_proof).value();
  EXPECT_TRUE(side->check(shown, right_proof).ok());
  EXPECT_FALSE(side->check(shown, other_proof).ok());
  EXPECT_FALSE(side->check(Shown(), right_proof).ok());
  EXPECT_FALSE(side->check(Shown(shown.begin(), shown.end() - 1), right_proof).ok());
  Shown longer = shown;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(side->check(longer, right_proof).ok());
}

TEST_F(Munged, CredentialsOfTheUserAreTaken) {
  EXPECT_EQ(refusal(made_by(own_user)), "");
  EXPECT_EQ(refusal(side_->show(right_proof).value()), "");
}

TEST_F(Munged, CredentialsOfOthersAreRefusedByName) {
  for (const uid_t other : {uid_t{0}, own_user - 1, own_user + 1}) {
    EXPECT_EQ(refusal(made_by(other)), "a MUNGE credential of user " + std::to_string(other) +
                                           " was shown, where one of user 1000 is needed");
  }
}

TEST_F(Munged, CredentialsServeOneConnectionOnce) {
  const Shown shown = made_by(own_user);
  EXPECT_EQ(refusal(shown), "");
  EXPECT_EQ(refusal(shown), "replayed");
  EXPECT_NE(refusal(made_by(own_user, other_proof)).find("something else"), std::string::npos);
}

TEST_F(Munged, PayloadsOfAnotherLengthAreRefused) {
  const TestCredentials maker(&realm_, own_user);
  for (const std::size_t length :
       {std::size_t{0}, right_proof.size() - 1, right_proof.size() + 1}) {
    Shown payload(right_proof.begin(), right_proof.end());
    payload.resize(length);
    EXPECT_NE(refusal(bytes_of(maker.make(payload).value())).find("something else"),
              std::string::npos)
        << length;
  }
}

TEST_F(Munged, CredentialsExpire) {
  const Shown first = made_by(own_user);
  const Shown second = made_by(own_user);
  realm_.now += TestRealm::seconds_to_live;
  EXPECT_EQ(refusal(first), "");
  realm_.now += 1;
  EXPECT_EQ(refusal(second), "expired");
}

TEST_F(Munged, ChangedCredentialsAreRefused) {
  Shown shown = made_by(own_user);
  shown.at(0) ^= std::byte{1};
  EXPECT_EQ(refusal(shown), "invalid");
  EXPECT_EQ(refusal({}), "invalid");
}

// MUNGE would take what is before the 0 for the credential.
TEST_F(Munged, CredentialsHaveNoZeroAndAreNotLong) {
  Shown shown = made_by(own_user);
  shown.push_back(std::byte{0});
  EXPECT_NE(refusal(shown).find("no MUNGE credential"), std::string::npos);
  EXPECT_NE(refusal(Shown(4097, std::byte{'M'})).find("longer than 4096"), std::string::npos);
  EXPECT_EQ(realm_.asked, 0);
  EXPECT_EQ(refusal(Shown(4096, std::byte{'M'})), "invalid");
  EXPECT_EQ(realm_.asked, 1);
}

TEST_F(Munged, NoAnswerIsTheError) {
  const Shown shown = made_by(own_user);
  realm_.answers = false;
  EXPECT_EQ(refusal(shown), "MUNGE does not answer");
  EXPECT_FALSE(side_->show(right_proof).ok());
  realm_.answers = true;
  EXPECT_EQ(refusal(shown), "");
}

}  // namespace
}  // namespace weir::transport

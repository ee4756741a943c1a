#include "transport/rendezvous.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>

#include "system/test_folder.hpp"
#include "transport/messages.hpp"
#include "transport/proof.hpp"

namespace weir::transport {
namespace {

Rendezvous one() { return {{"10.0.0.1:4711", "[fd00::1]:4711"}, "0123456789abcdef"}; }
Rendezvous other() { return {{"127.0.0.1:1"}, std::string(16, '\xff')}; }
Rendezvous by_munge() { return {{"127.0.0.1:2"}, std::string(16, 'm'), Authentication::munge}; }

class RendezvousFiles : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text, mode_t mode = 0600) {
    std::ofstream(path) << text;
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  storage::TestFolder folder_;
  std::string path_ = folder_.path("at");
};

TEST(Rendezvous, IsReadAsItWasWritten) {
  const auto read = parse_rendezvous(text_of({one(), by_munge(), other()}), "f");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read.value(), (std::vector<Rendezvous>{one(), by_munge(), other()}));
}

TEST(Rendezvous, DamageIsRefusedOrMeansSomethingElse) {
  const std::string text = text_of({one()});
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_rendezvous(text.substr(0, length), "f").ok()) << length;
  }
  EXPECT_FALSE(parse_rendezvous(text + "\n", "f").ok());
  const std::string key(32, '0');
  const std::string own = fmt::format("weir-stager {}", protocol_version);
  EXPECT_TRUE(parse_rendezvous(fmt::format("{} 127.0.0.1:1 cookie {}\n", own, key), "f").ok());
  for (const char* const wrong : {"localhost:1 cookie ", "127.0.0.1:1 kerberos ", "127.0.0.1:1 "}) {
    EXPECT_FALSE(parse_rendezvous(fmt::format("{} {}{}\n", own, wrong, key), "f").ok());
  }
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto read = parse_rendezvous(damaged, "f");
    if (read) {
      EXPECT_EQ(read.value().size(), 1U);
      EXPECT_EQ(read.value()[0].key.size(), 16U);
    }
  }
}

TEST(Rendezvous, AnotherVersionIsRefusedByName) {
  const auto read = parse_rendezvous("weir-stager 1 what came before\n", "f");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("another version"), std::string::npos);
}

TEST_F(RendezvousFiles, AreThereAsLongAsTheStager) {
  {
    const auto written = RendezvousFile::write(path_, one());
    ASSERT_TRUE(written.ok()) << written.error().text();
    struct stat about {};
    ASSERT_EQ(::stat(path_.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777U, 0600U);
    EXPECT_EQ(read_rendezvous(path_).value(), (std::vector<Rendezvous>{one()}));
    const auto second = RendezvousFile::write(path_, other());
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().message.find("a stager that runs"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_NE(read_rendezvous(path_).error().message.find("does not exist"), std::string::npos);
}

TEST_F(RendezvousFiles, OfAKilledStagerAreWrittenAgain) {
  put(path_, text_of({one()}) + text_of({one()}));
  const auto written = RendezvousFile::write(path_, other());
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(read_rendezvous(path_).value(), (std::vector<Rendezvous>{other()}));
}

TEST_F(RendezvousFiles, OfAFolderAreReadInOrder) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  EXPECT_FALSE(read_rendezvous(path_).ok());
  put(path_ + "/b", text_of({one()}));
  put(path_ + "/a", text_of({other()}));
  EXPECT_EQ(read_rendezvous(path_).value(), (std::vector<Rendezvous>{other(), one()}));
  const auto written = RendezvousFile::write(path_, one());
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(read_rendezvous(path_).value().size(), 3U);
}

TEST_F(RendezvousFiles, ThatOthersCouldReadOrReplaceAreRefused) {
  put(path_, text_of({one()}), 0640);
  EXPECT_NE(read_rendezvous(path_).error().message.find("you alone"), std::string::npos);
  EXPECT_FALSE(RendezvousFile::write(path_, one()).ok());
  put(path_, text_of({one()}));
  const std::string link = path_ + ".link";
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_FALSE(read_rendezvous(link).ok());
  EXPECT_FALSE(RendezvousFile::write(link, one()).ok());
}

TEST_F(RendezvousFiles, WithoutACookieMayBeReadByOthers) {
  {
    put(path_, "what a killed stager has left");
    const auto written = RendezvousFile::write(path_, by_munge());
    ASSERT_TRUE(written.ok()) << written.error().text();
    struct stat about {};
    ASSERT_EQ(::stat(path_.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777U, 0644U);
    EXPECT_EQ(read_rendezvous(path_).value(), (std::vector<Rendezvous>{by_munge()}));
    for (const mode_t mode : {0664U, 0646U}) {
      ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
      EXPECT_NE(read_rendezvous(path_).error().message.find("nobody else may write"),
                std::string::npos);
    }
    ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  }
  put(path_, text_of({by_munge(), one()}), 0644);
  EXPECT_NE(read_rendezvous(path_).error().message.find("you alone"), std::string::npos);
  EXPECT_FALSE(RendezvousFile::write(path_, one()).ok());
}

std::string hexadecimal(const Proof& proof) {
  const std::string line =
      text_of({{{"a"}, {reinterpret_cast<const char*>(proof.data()), proof.size()}}});
  return line.substr(line.rfind(' ') + 1);
}

// Test cases 2 and 6 of RFC 4231.
TEST(Proofs, AreThoseOfHmacSha256) {
  const auto of = [](const std::string& key, const std::string& text) {
    return hexadecimal(hmac_sha256(std::as_bytes(std::span(key)), std::as_bytes(std::span(text))));
  };
  EXPECT_EQ(of("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\n");
  EXPECT_EQ(of(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54\n");
}

TEST(Proofs, DifferBySideSecretAndConnection) {
  const Nonce a{std::byte{1}};
  const Nonce b{std::byte{2}};
  const Proof proof = proof_of(Side::rank, "secret", a, b);
  EXPECT_TRUE(is_same(proof, proof_of(Side::rank, "secret", a, b)));
  EXPECT_FALSE(is_same(proof, proof_of(Side::stager, "secret", a, b)));
  EXPECT_FALSE(is_same(proof, proof_of(Side::rank, "Secret", a, b)));
  EXPECT_FALSE(is_same(proof, proof_of(Side::rank, "secret", b, b)));
  EXPECT_FALSE(is_same(proof, proof_of(Side::rank, "secret", a, a)));
}

}  // namespace
}  // namespace weir::transport

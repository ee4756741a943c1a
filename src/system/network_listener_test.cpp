#include "system/network_listener.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "system/network_address.hpp"

namespace weir::storage {
namespace {

std::optional<FrameSocket> accepted(const NetworkListener& listener) {
  for (int i = 0; i < 10'000; ++i) {
    if (auto socket = listener.accept()) return socket;
    ::usleep(1000);
  }
  return std::nullopt;
}

Result<std::optional<Frame>> next_frame(FrameSocket& socket, FrameSocket& sender) {
  for (int i = 0; i < 10'000; ++i) {
    (void)sender.send_rest();
    auto frame = socket.next();
    if (!frame || frame.value()) return frame;
    socket.wait(1);
  }
  return std::optional<Frame>();
}

TEST(NetworkAddress, IsNumeric) {
  EXPECT_EQ(NetworkAddress::parse("10.0.0.1:4711").value().family(), AF_INET);
  EXPECT_EQ(NetworkAddress::parse("[::1]:1").value().family(), AF_INET6);
  for (const char* const text : {"", "10.0.0.1", "localhost:1", "10.0.0.1:", "10.0.0.1:x", ":1",
                                 "10.0.0.256:1", "[::1:1", "10.0.0.1:65536"}) {
    EXPECT_FALSE(NetworkAddress::parse(text).ok()) << text;
  }
  EXPECT_TRUE(NetworkAddress::parse("10.0.0.1:65535").ok());
}

TEST(NetworkListener, IsReachedAtEachOfItsAddresses) {
  const auto listener = NetworkListener::listen("");
  ASSERT_TRUE(listener.ok()) << listener.error().text();
  ASSERT_FALSE(listener.value().addresses().empty());
  for (const std::string& address : listener.value().addresses()) {
    auto socket = FrameSocket::begin_connection(address);
    ASSERT_TRUE(socket.ok()) << socket.error().text();
    // What is sent before the connection is there arrives, too.
    ASSERT_TRUE(socket.value().send(std::vector<std::byte>(3, std::byte{7})).ok());
    auto other = accepted(listener.value());
    ASSERT_TRUE(other.has_value()) << address;
    const auto frame = next_frame(*other, socket.value());
    ASSERT_TRUE(frame.ok() && frame.value());
    EXPECT_EQ(frame.value()->payload, std::vector<std::byte>(3, std::byte{7}));
    EXPECT_EQ(socket.value().connecting_error(), 0);
  }
}

TEST(NetworkListener, ListensWhereItIsToldAndNowhereElse) {
  const auto listener = NetworkListener::listen("127.0.0.1");
  ASSERT_TRUE(listener.ok()) << listener.error().text();
  ASSERT_EQ(listener.value().addresses().size(), 1U);
  EXPECT_TRUE(listener.value().addresses().front().starts_with("127.0.0.1:"));
  const std::string port = listener.value().addresses().front().substr(9);
  const auto all = NetworkListener::listen("");
  ASSERT_TRUE(all.ok());
  for (std::string address : all.value().addresses()) {
    address.replace(address.rfind(':'), std::string::npos, port);
    if (address.starts_with("127.")) continue;
    auto socket = FrameSocket::begin_connection(address);
    for (int i = 0; i < 1000 && socket && socket.value().next().ok(); ++i) socket.value().wait(1);
    EXPECT_TRUE(!socket || !socket.value().next().ok()) << address;
  }
  const auto elsewhere = NetworkListener::listen("192.0.2.200");
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.error().message.find("no address of this node: give one of"),
            std::string::npos);
  EXPECT_FALSE(NetworkListener::listen("localhost").ok());
}

TEST(NetworkListener, CarriesAFrameOfTheGreatestLengthAndNoLonger) {
  const auto listener = NetworkListener::listen("127.0.0.1");
  ASSERT_TRUE(listener.ok());
  auto socket = FrameSocket::begin_connection(listener.value().addresses().front());
  ASSERT_TRUE(socket.ok());
  std::vector<std::byte> longest(FrameSocket::longest_network_payload, std::byte{1});
  ASSERT_TRUE(socket.value().send(longest).ok());
  auto other = accepted(listener.value());
  ASSERT_TRUE(other.has_value());
  const auto frame = next_frame(*other, socket.value());
  ASSERT_TRUE(frame.ok() && frame.value());
  EXPECT_EQ(frame.value()->payload.size(), longest.size());
  longest.push_back(std::byte{1});
  EXPECT_FALSE(socket.value().send(longest).ok());
  // A stranger that claims more is not listened to.
  socket.value().trust();
  ASSERT_TRUE(socket.value().send(longest).ok());
  const auto longer = next_frame(*other, socket.value());
  ASSERT_FALSE(longer.ok());
  EXPECT_NE(longer.error().message.find("no message of Weir"), std::string::npos);
}

// Has what one side of a connection has sent, as bytes on the network; and a connection on which
// they arrive.
class DamagedFrames : public testing::Test {
 protected:
  // Returns two frames. The payload of each has 100 bytes.
  static std::vector<std::byte> two_frames() {
    Connection from;
    EXPECT_TRUE(from.sender->send(std::vector<std::byte>(100, std::byte{1})).ok());
    EXPECT_TRUE(from.sender->send(std::vector<std::byte>(100, std::byte{2})).ok());
    std::vector<std::byte> bytes(1000);
    std::size_t got = 0;
    for (int i = 0; i < 1000 && got < 2 * frame_bytes; ++i) {
      from.taker->wait(10);
      const ssize_t some = ::read(from.taker->descriptor(), bytes.data() + got, bytes.size() - got);
      if (some > 0) got += static_cast<std::size_t>(some);
    }
    bytes.resize(got);
    return bytes;
  }
  // Returns the error behind the first frames, of which there are `whole`; "": all arrived.
  static std::string error_behind(std::span<const std::byte> bytes, int whole) {
    Connection to;
    EXPECT_EQ(::write(to.sender->descriptor(), bytes.data(), bytes.size()), std::ssize(bytes));
    for (int i = 0; i < whole; ++i) {
      const auto frame = next_frame(*to.taker, *to.sender);
      EXPECT_TRUE(frame.ok()) << frame.error().text();
    }
    for (int i = 0; i < 100; ++i) {
      const auto frame = to.taker->next();
      if (!frame) return frame.error().message;
      to.taker->wait(1);
    }
    return "";
  }

  static constexpr std::size_t head_bytes = 24;
  static constexpr std::size_t frame_bytes = head_bytes + 100;

 private:
  struct Connection {
    Connection() : listener(NetworkListener::listen("127.0.0.1").value()) {
      sender.emplace(FrameSocket::begin_connection(listener.addresses().front()).value());
      taker = accepted(listener);
    }
    NetworkListener listener;
    std::optional<FrameSocket> sender;
    std::optional<FrameSocket> taker;
  };
};

TEST_F(DamagedFrames, AnyBitOfTheSecondOneIsNoticed) {
  const std::vector<std::byte> good = two_frames();
  ASSERT_EQ(good.size(), 2 * frame_bytes);
  EXPECT_EQ(error_behind(good, 2), "");
  // Every bit of the head, and some of the payload.
  for (std::size_t bit = 0; bit < 8 * frame_bytes; bit += bit < 8 * head_bytes ? 1 : 61) {
    std::vector<std::byte> damaged = good;
    damaged[frame_bytes + bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_EQ(
        error_behind(damaged, 1),
        bit < 8 * head_bytes
            ? "bytes were damaged on the way (the CRC-32C of a message's head differs): check "
              "the network"
            : "bytes were damaged on the way (the CRC-32C of a message differs): check the "
              "network")
        << bit;
  }
}

TEST_F(DamagedFrames, OneThatIsDoubledOrLostIsNoticed) {
  const std::vector<std::byte> good = two_frames();
  ASSERT_EQ(good.size(), 2 * frame_bytes);
  std::vector<std::byte> doubled(good.begin(), good.begin() + frame_bytes);
  doubled.insert(doubled.end(), good.begin(), good.begin() + frame_bytes);
  EXPECT_NE(error_behind(doubled, 1).find("message 0 came in place of message 1"),
            std::string::npos);
  EXPECT_NE(error_behind(std::span(good).subspan(frame_bytes), 0)
                .find("message 1 came in place of message 0"),
            std::string::npos);
}

// Both sides give a connection up after as long without an answer.
TEST(NetworkListener, ConnectionsEndAfterTheLongestSilence) {
  const auto listener = NetworkListener::listen("127.0.0.1");
  ASSERT_TRUE(listener.ok()) << listener.error().text();
  const auto begun = FrameSocket::begin_connection(listener.value().addresses().front());
  ASSERT_TRUE(begun.ok()) << begun.error().text();
  const FrameSocket& connection = begun.value();
  const auto set = [&](int option) {
    int value = 0;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(::getsockopt(connection.descriptor(), IPPROTO_TCP, option, &value, &bytes), 0);
    return value;
  };
  constexpr int seconds = 60;
  EXPECT_EQ(set(TCP_USER_TIMEOUT), seconds * 1000);
  EXPECT_EQ(set(TCP_KEEPINTVL) * set(TCP_KEEPCNT), seconds);
}

TEST(NetworkListener, NobodyListensThere) {
  std::string address;
  {
    const auto listener = NetworkListener::listen("127.0.0.1");
    ASSERT_TRUE(listener.ok());
    address = listener.value().addresses().front();
  }
  auto socket = FrameSocket::begin_connection(address);
  ASSERT_TRUE(socket.ok());
  EXPECT_FALSE(next_frame(socket.value(), socket.value()).ok());
}

}  // namespace
}  // namespace weir::storage

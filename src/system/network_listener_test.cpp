#include "system/network_listener.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
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
  const std::vector<unsigned char> head = {'W', 'E', 'I', 'F', 0, 0, 0, 0, 1, 0, 1, 0};
  ASSERT_EQ(::write(socket.value().descriptor(), head.data(), head.size()),
            static_cast<ssize_t>(head.size()));
  EXPECT_FALSE(next_frame(*other, socket.value()).ok());
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

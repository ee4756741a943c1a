#include "system/frame_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

std::vector<std::byte> bytes_of(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

class FrameSockets : public testing::Test {
 protected:
  // Takes frames until one is complete.
  static Frame take(FrameSocket& socket, FrameSocket* sender = nullptr) {
    for (int i = 0; i < 10'000; ++i) {
      if (sender != nullptr && !sender->send_rest().ok()) break;
      auto frame = socket.next();
      EXPECT_TRUE(frame.ok());
      if (!frame) return {};
      if (frame.value()) return std::move(*frame.value());
      socket.wait(1);
    }
    ADD_FAILURE() << "nothing arrived";
    return {};
  }

  TestFolder folder_;
  std::string path_ = folder_.path("own/socket");
};

TEST_F(FrameSockets, CarryFramesInBothDirections) {
  auto listener = FrameListener::listen(path_);
  ASSERT_TRUE(listener.ok()) << listener.error().text();
  auto client = FrameSocket::connect(path_);
  ASSERT_TRUE(client.ok()) << client.error().text();
  auto server = listener.value().accept();
  ASSERT_TRUE(server.has_value());
  EXPECT_FALSE(listener.value().accept().has_value());
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{70'000}}) {
    ASSERT_TRUE(client.value().send(bytes_of(count, 3)).ok());
    ASSERT_TRUE(server->send(bytes_of(count + 1, 4)).ok());
    EXPECT_EQ(take(*server, &client.value()).payload, bytes_of(count, 3));
    EXPECT_EQ(take(client.value(), &*server).payload, bytes_of(count + 1, 4));
  }
}

TEST_F(FrameSockets, CarryAFrameOfTheGreatestLengthAndNoLonger) {
  auto listener = FrameListener::listen(path_);
  auto client = FrameSocket::connect(path_);
  auto server = listener.value().accept();
  const auto longest = bytes_of(FrameSocket::longest_payload, 5);
  ASSERT_TRUE(client.value().send(longest).ok());
  EXPECT_TRUE(client.value().has_rest());  // the connection did not take all at once
  EXPECT_EQ(take(*server, &client.value()).payload.size(), longest.size());
  EXPECT_FALSE(client.value().send(bytes_of(FrameSocket::longest_payload + 1, 5)).ok());
}

TEST_F(FrameSockets, PassOpenFiles) {
  auto listener = FrameListener::listen(path_);
  auto client = FrameSocket::connect(path_);
  auto server = listener.value().accept();
  const std::string name = folder_.path("file");
  auto file = File::open(name, {.write = true, .create = true});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(client.value().send(bytes_of(10, 1)).ok());
  ASSERT_TRUE(client.value().send(bytes_of(20, 2), &file.value()).ok());
  ASSERT_TRUE(client.value().send(bytes_of(30, 3)).ok());
  EXPECT_FALSE(take(*server).passed.has_value());
  const Frame second = take(*server);
  ASSERT_TRUE(second.passed.has_value());
  EXPECT_EQ(second.payload.size(), 20U);
  struct stat passed {};
  struct stat opened {};
  ASSERT_EQ(::fstat(second.passed->descriptor(), &passed), 0);
  ASSERT_EQ(::fstat(file.value().descriptor(), &opened), 0);
  EXPECT_EQ(passed.st_ino, opened.st_ino);
  EXPECT_FALSE(take(*server).passed.has_value());
}

TEST_F(FrameSockets, FramesThatAreSentLaterGoWithTheNextOneInTheirOrder) {
  const auto listener = FrameListener::listen(path_);
  auto client = FrameSocket::connect(path_);
  auto server = listener.value().accept();
  auto file = File::open(folder_.path("file"), {.write = true, .create = true});
  ASSERT_TRUE(file.ok());
  // 15, 16 and 17 frames beside each other, each time with some that pass a file or are long.
  for (const int count : {15, 16, 17}) {
    for (int i = 0; i < count; ++i) {
      const bool passes = i % 5 == 3;
      const std::size_t bytes = i % 7 == 6 ? 300'000 : static_cast<std::size_t>(i);
      ASSERT_TRUE(
          client.value().send_later(bytes_of(bytes, i), passes ? &file.value() : nullptr).ok());
    }
    EXPECT_EQ(client.value().unsent_frames(), static_cast<std::size_t>(count));
    EXPECT_FALSE(server->next().value().has_value()) << "nothing was sent";
    ASSERT_TRUE(client.value().send(bytes_of(2, 99)).ok());
    for (int i = 0; i < count; ++i) {
      const Frame frame = take(*server, &client.value());
      EXPECT_EQ(frame.payload, bytes_of(i % 7 == 6 ? 300'000 : static_cast<std::size_t>(i), i));
      EXPECT_EQ(frame.passed.has_value(), i % 5 == 3);
    }
    EXPECT_EQ(take(*server, &client.value()).payload, bytes_of(2, 99));
    EXPECT_FALSE(client.value().has_rest());
  }
  EXPECT_FALSE(client.value().send_later(bytes_of(FrameSocket::longest_payload + 1, 5)).ok());
}

TEST_F(FrameSockets, WhatWasSentArrivesAfterTheSenderHasEnded) {
  auto listener = FrameListener::listen(path_);
  std::optional<FrameSocket> client = std::move(FrameSocket::connect(path_)).value();
  auto server = listener.value().accept();
  ASSERT_TRUE(client->send(bytes_of(100, 1)).ok());
  client.reset();
  EXPECT_EQ(take(*server).payload.size(), 100U);
  const auto end = server->next();
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().system_error, ECONNRESET);
}

TEST_F(FrameSockets, RefuseWhatIsNoFrame) {
  auto listener = FrameListener::listen(path_);
  auto client = FrameSocket::connect(path_);
  auto server = listener.value().accept();
  const std::string text = "GET / HTTP/1.1\r\n";
  ASSERT_EQ(::send(client.value().descriptor(), text.data(), text.size(), 0),
            static_cast<ssize_t>(text.size()));
  server->wait(1000);
  const auto frame = server->next();
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().code, ErrorCode::corrupt);
}

TEST_F(FrameSockets, OneProcessListensAtAPath) {
  {
    auto first = FrameListener::listen(path_);
    ASSERT_TRUE(first.ok());
    const auto second = FrameListener::listen(path_);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(FrameSocket::connect(path_).ok());
  EXPECT_TRUE(FrameListener::listen(path_).ok());
}

TEST_F(FrameSockets, TheNameOfAKilledListenerIsTaken) {
  ASSERT_EQ(::mkdir(folder_.path("own").c_str(), S_IRWXU), 0);
  {
    const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::copy(path_.begin(), path_.end(), std::begin(name.sun_path));
    ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    ::close(left);
  }
  auto listener = FrameListener::listen(path_);
  ASSERT_TRUE(listener.ok()) << listener.error().text();
  EXPECT_TRUE(FrameSocket::connect(path_).ok());
}

TEST_F(FrameSockets, AFolderThatOthersMayEnterIsRefused) {
  const std::string folder = folder_.path("own");
  ASSERT_EQ(::mkdir(folder.c_str(), S_IRWXU), 0);
  ASSERT_EQ(::chmod(folder.c_str(), S_IRWXU | S_IXGRP), 0);
  EXPECT_FALSE(FrameListener::listen(path_).ok());
  ASSERT_EQ(::chmod(folder.c_str(), S_IRWXU), 0);
  EXPECT_TRUE(FrameListener::listen(path_).ok());
}

TEST_F(FrameSockets, APathOfTheGreatestLengthWorksAndNoLonger) {
  const std::string folder = folder_.path("own/");
  const std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
  ASSERT_LT(folder.size(), most);
  const std::string longest = folder + std::string(most - folder.size(), 'x');
  EXPECT_TRUE(FrameListener::listen(longest).ok());
  EXPECT_FALSE(FrameListener::listen(longest + "x").ok());
}

}  // namespace
}  // namespace weir::storage

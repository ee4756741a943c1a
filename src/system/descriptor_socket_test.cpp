#include "system/descriptor_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

class DescriptorSocketTest : public testing::Test {
 protected:
  using Sent = DescriptorSocket::Sent;
  [[nodiscard]] File open_file(const std::string& name) const {
    return File::open(folder_.path(name), {.write = true, .create = true}).value();
  }
  [[nodiscard]] PassedName name_of(const File& file) const {
    return {.file = 7, .user = 2, .write = true, .direct = false, .path = file.path()};
  }

  TestFolder folder_;
  DescriptorSocket from_ = DescriptorSocket::create().value();
  DescriptorSocket to_ = DescriptorSocket::create().value();
  DescriptorSocket::Secret secret_ = new_secret().value();
};

TEST_F(DescriptorSocketTest, TheSameOpenFileArrives) {
  File file = open_file("a");
  file.set_description(12);
  ASSERT_EQ(from_.send(to_.address(), secret_, name_of(file), file), Sent::yes);
  const auto come = to_.receive(secret_);
  ASSERT_TRUE(come);
  EXPECT_EQ(come->name, name_of(file));
  EXPECT_EQ(come->file.path(), file.path());
  EXPECT_EQ(come->file.description(), 12U);
  EXPECT_NE(come->file.descriptor(), file.descriptor());
  EXPECT_NE(::fcntl(come->file.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(::lseek(file.descriptor(), 123, SEEK_SET), 123);
  EXPECT_EQ(::lseek(come->file.descriptor(), 0, SEEK_CUR), 123);
  EXPECT_FALSE(to_.receive(secret_));
}

// The path goes along as a name, whatever the system would open by it.
TEST_F(DescriptorSocketTest, PathsUpToTheLimitArrive) {
  const File file = open_file("a");
  PassedName name = name_of(file);
  name.path = std::string(DescriptorSocket::longest_path, 'p');
  ASSERT_EQ(from_.send(to_.address(), secret_, name, file), Sent::yes);
  const auto come = to_.receive(secret_);
  ASSERT_TRUE(come);
  EXPECT_EQ(come->name, name);
  name.path += 'p';
  EXPECT_EQ(from_.send(to_.address(), secret_, name, file), Sent::nobody_there);
  EXPECT_FALSE(to_.receive(secret_));
}

TEST_F(DescriptorSocketTest, OfWhoDoesNotKnowTheSecretNothingIsTaken) {
  const File foreign = open_file("foreign");
  DescriptorSocket::Secret guessed = secret_;
  guessed[3] ^= std::byte{1};
  const int before = ::dup(0);
  ::close(before);
  ASSERT_EQ(from_.send(to_.address(), guessed, name_of(foreign), foreign), Sent::yes);
  // Sends no message at all, and one without a descriptor.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, to_.address().name.data(), to_.address().bytes);
  const int plain = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const std::string text = std::string(60, 'x');
  ASSERT_EQ(::sendto(plain, text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + to_.address().bytes)),
            60);
  ::close(plain);
  const File file = open_file("a");
  ASSERT_EQ(from_.send(to_.address(), secret_, name_of(file), file), Sent::yes);
  const auto come = to_.receive(secret_);
  ASSERT_TRUE(come);
  EXPECT_EQ(come->name.path, file.path());
  EXPECT_FALSE(to_.receive(secret_));
  // What came with the wrong secret is closed: no more descriptors are used than before, but those
  // of the two files opened meanwhile and the one that was taken.
  const int next = ::dup(0);
  ::close(next);
  EXPECT_LE(next, before + 2);
}

TEST_F(DescriptorSocketTest, OfAnotherUserNothingIsTaken) {
  if (::getuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  const File file = open_file("a");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool sent = ::setuid(65534) == 0 &&
                      from_.send(to_.address(), secret_, name_of(file), file) == Sent::yes;
    ::_exit(sent ? 0 : 1);
  }
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  ASSERT_EQ(ended, 0);
  EXPECT_FALSE(to_.receive(secret_));
}

TEST_F(DescriptorSocketTest, SendingNeverWaits) {
  const File file = open_file("a");
  Sent last = Sent::yes;
  int sent = 0;
  while (last == Sent::yes && sent < 100000) {
    last = from_.send(to_.address(), secret_, name_of(file), file);
    ++sent;
  }
  EXPECT_EQ(last, Sent::no_room);
  while (to_.receive(secret_)) --sent;
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(from_.send(to_.address(), secret_, name_of(file), file), Sent::yes);
  const DescriptorSocket::Address gone = DescriptorSocket::create().value().address();
  EXPECT_EQ(from_.send(gone, secret_, name_of(file), file), Sent::nobody_there);
  EXPECT_EQ(from_.send({}, secret_, name_of(file), file), Sent::nobody_there);
}

}  // namespace
}  // namespace weir::storage

#include "system/file_replacement.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::storage {
namespace {

Status replace(const std::string& path, const std::string& text) {
  auto file = begin_replacement(path);
  if (!file) return file.error();
  EXPECT_EQ(::pwrite(file.value().descriptor(), text.data(), text.size(), 0),
            static_cast<ssize_t>(text.size()));
  return finish_replacement(file.value(), path, false);
}

TEST(FileReplacement, TakesThePlaceOfAFileOrOfNone) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  for (const char* const text : {"first", "second"}) {
    auto begun = begin_replacement(path);
    ASSERT_TRUE(begun.ok()) << begun.error().text();
    EXPECT_NE(text_of(path), text);
    ASSERT_TRUE(replace(path, text).ok());
    EXPECT_EQ(text_of(path), text);
    EXPECT_FALSE(std::filesystem::exists(replacement_path(path)));
  }
}

TEST(FileReplacement, KeepsTheModeOfTheFileThatWasThere) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  for (const mode_t mode : {0600U, 0664U, 0444U}) {
    write_text(path, "old");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    ASSERT_TRUE(replace(path, "new").ok());
    struct stat information {};
    ASSERT_EQ(::stat(path.c_str(), &information), 0);
    EXPECT_EQ(information.st_mode & 07777U, mode);
    std::filesystem::remove(path);
  }
}

TEST(FileReplacement, KeepsTheOwnerIfThisUserMaySetIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files to others";
  const TestFolder folder;
  const std::string path = folder.path("a");
  write_text(path, "old");
  ASSERT_EQ(::chown(path.c_str(), 1234, 4321), 0);
  ASSERT_TRUE(replace(path, "new").ok());
  struct stat information {};
  ASSERT_EQ(::stat(path.c_str(), &information), 0);
  EXPECT_EQ(information.st_uid, 1234U);
  EXPECT_EQ(information.st_gid, 4321U);
}

TEST(FileReplacement, KeepsTheAccessControlList) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  write_text(path, "old");
  // Version 2, then tag, permissions and identifier of: the owner, user 1234, the group, the mask,
  // others.
  const std::array<unsigned char, 44> list = {2,    0, 0, 0,                          //
                                              0x01, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,  //
                                              0x02, 0, 4, 0, 0xd2, 0x04, 0,    0,     //
                                              0x04, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,  //
                                              0x10, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,  //
                                              0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
  constexpr const char* name = "system.posix_acl_access";
  if (::setxattr(path.c_str(), name, list.data(), list.size(), 0) != 0) {
    ASSERT_EQ(errno, ENOTSUP);
    GTEST_SKIP() << "this file system has no access control lists";
  }
  ASSERT_TRUE(replace(path, "new").ok());
  std::array<unsigned char, 100> got{};
  ASSERT_EQ(::getxattr(path.c_str(), name, got.data(), got.size()),
            static_cast<ssize_t>(list.size()));
  EXPECT_TRUE(std::equal(list.begin(), list.end(), got.begin()));
}

// What somebody else has put under the temporary name.
TEST(FileReplacement, FollowsNoLinkAndWaitsForNoPipe) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const std::string fresh = replacement_path(path);
  const std::string precious = folder.path("precious");
  write_text(precious, "precious");
  std::filesystem::create_symlink(precious, fresh);
  ASSERT_TRUE(replace(path, "new").ok());
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  std::filesystem::create_hard_link(precious, fresh);
  ASSERT_TRUE(replace(path, "newer").ok());
  std::filesystem::create_symlink(folder.path("nowhere"), fresh);
  ASSERT_TRUE(replace(path, "newer").ok());
  EXPECT_FALSE(std::filesystem::exists(folder.path("nowhere")));
  ASSERT_EQ(::mkfifo(fresh.c_str(), 0600), 0);
  ASSERT_TRUE(replace(path, "newest").ok());
  EXPECT_EQ(text_of(path), "newest");
  EXPECT_EQ(text_of(precious), "precious");
  EXPECT_EQ(std::filesystem::hard_link_count(precious), 1U);
  std::filesystem::create_directory(fresh);
  EXPECT_FALSE(begin_replacement(path).ok());
}

}  // namespace
}  // namespace weir::storage

#include "system/file_replacement.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

#include "system/unfollowed_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "system/incomplete.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::storage {
namespace {

TEST(UnfollowedFile, LeavesALinksTargetAsItIs) {
  const TestFolder folder;
  const std::string victim = folder.path("victim");
  const std::string link = folder.path("link");
  write_text(victim, "precious");
  std::filesystem::create_symlink(victim, link);
  EXPECT_EQ(make_unfollowed(link).error().system_error, EEXIST);
  EXPECT_EQ(open_unfollowed(link).error().system_error, ELOOP);
  EXPECT_EQ(open_or_make_unfollowed(link).error().system_error, ELOOP);
  EXPECT_EQ(text_of(victim), "precious");
  // No file is made where a link leads to none, either.
  std::filesystem::remove(victim);
  EXPECT_FALSE(open_or_make_unfollowed(link).ok());
  EXPECT_FALSE(std::filesystem::exists(victim));
}

TEST(UnfollowedFile, RefusesAPipeAtOnce) {
  const TestFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(make_unfollowed(pipe).error().system_error, EEXIST);
  EXPECT_FALSE(open_unfollowed(pipe).ok());
  EXPECT_NE(open_or_make_unfollowed(pipe).error().text().find("other than a file"),
            std::string::npos);
}

TEST(UnfollowedFile, IsMadeOnceAndKeepsItsContent) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  EXPECT_TRUE(make_unfollowed(path).ok());
  EXPECT_FALSE(make_unfollowed(path).ok());
  write_text(path, "content");
  EXPECT_TRUE(open_unfollowed(path).ok());
  EXPECT_TRUE(open_or_make_unfollowed(path).ok());
  EXPECT_EQ(text_of(path), "content");
  EXPECT_TRUE(open_or_make_unfollowed(folder.path("b")).ok());
  EXPECT_TRUE(std::filesystem::exists(folder.path("b")));
  EXPECT_EQ(open_unfollowed(folder.path("c")).error().system_error, ENOENT);
}

}  // namespace
}  // namespace weir::storage

#include "system/root_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

class RootFolders : public testing::TestWithParam<RootFolder::Way> {
 protected:
  RootFolders() {
    std::filesystem::create_directories(root() + "/in/deep");
    std::filesystem::create_directories(base() + "/out");
    std::filesystem::create_directories(base() + "/root-beside");
    std::ofstream(base() + "/out/file") << "x";
    std::ofstream(root() + "/in/file") << "x";
  }
  std::string base() { return folder_.folder().string(); }
  std::string root() { return base() + "/root"; }
  void link(const std::string& to, const std::string& name) {
    std::filesystem::create_symlink(to, root() + "/" + name);
  }
  bool lets_in(const std::string& path) {
    const auto folder = RootFolder::open(root(), GetParam());
    if (!folder) return false;
    const Status checked = folder.value().check(path);
    if (!checked.ok()) {
      EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
      EXPECT_EQ(checked.error().text().find('\n'), std::string::npos);
    }
    return checked.ok();
  }

 private:
  TestFolder folder_;
};

TEST_P(RootFolders, LetInWhatIsBelowOrWillBe) {
  for (const char* const path :
       {"/in/file", "/in/new", "/new", "/new/newer/newest", "/in/deep/../file", "//in//file"}) {
    EXPECT_TRUE(lets_in(root() + path)) << path;
  }
}

TEST_P(RootFolders, RefuseWhatIsOutside) {
  for (const std::string& path :
       {root(), root() + "/", base() + "/out/file", base() + "/root-beside/file",
        root() + "/../out/file", root() + "/..", root() + "/in/../../out/new",
        std::string("in/file"), std::string("/etc/passwd"), std::string(), std::string("/")}) {
    EXPECT_FALSE(lets_in(path)) << path;
  }
}

TEST_P(RootFolders, RefuseToLeaveFromFoldersThatAreNotThere) {
  EXPECT_FALSE(lets_in(root() + "/new/../../out/file"));
  EXPECT_FALSE(lets_in(root() + "/new/.."));
}

TEST_P(RootFolders, FollowLinksThatStayBelow) {
  link("in", "relative");
  link("deep/../file", "in/upward");
  EXPECT_TRUE(lets_in(root() + "/relative/file"));
  EXPECT_TRUE(lets_in(root() + "/relative/new"));
  EXPECT_TRUE(lets_in(root() + "/in/upward"));
}

TEST_P(RootFolders, RefuseLinksThatLeave) {
  link(base() + "/out", "absolute");
  link("../out", "relative");
  link("../../out/file", "in/file-outside");
  link(base() + "/out/not-there", "dangling");
  link("../out/not-there", "in/dangling");
  link("in/not-there", "dangling-below");
  link("loop", "loop");
  for (const char* const path :
       {"/absolute/file", "/absolute/new", "/relative/file", "/relative/new", "/in/file-outside",
        "/dangling", "/in/dangling", "/dangling-below", "/loop", "/loop/new"}) {
    EXPECT_FALSE(lets_in(root() + path)) << path;
  }
}

TEST_P(RootFolders, MayBeGivenByALink) {
  std::filesystem::create_symlink(root(), base() + "/alias");
  const auto folder = RootFolder::open(base() + "/alias/", GetParam());
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder.value().check(base() + "/alias/in/file").ok());
  EXPECT_TRUE(folder.value().check(root() + "/in/file").ok());
  EXPECT_FALSE(folder.value().check(base() + "/out/file").ok());
}

TEST_P(RootFolders, AreFoldersThatExist) {
  for (const std::string& path :
       {root() + "/in/file", root() + "/none", std::string("in"), std::string()}) {
    const auto folder = RootFolder::open(path, GetParam());
    ASSERT_FALSE(folder) << path;
    EXPECT_EQ(folder.error().code, ErrorCode::invalid_argument);
  }
}

INSTANTIATE_TEST_SUITE_P(EachWay, RootFolders,
                         testing::Values(RootFolder::Way::beneath, RootFolder::Way::real_paths));

}  // namespace
}  // namespace weir::storage

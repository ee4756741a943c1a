#include "system/striping.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "formats/format.hpp"
#include "stored/file_description.hpp"
#include "system/incomplete.hpp"
#include "system/striped_system.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::storage {
namespace {

TEST(Striping, WhatCannotBeIsRefused) {
  const auto is_possible = [](const Striping& striping) { return striping.check().ok(); };
  EXPECT_TRUE(is_possible({}));
  EXPECT_TRUE(is_possible({.count = -1}));
  EXPECT_FALSE(is_possible({.count = -2}));
  EXPECT_TRUE(is_possible({.count = 1 << 20}));
  EXPECT_FALSE(is_possible({.count = (1 << 20) + 1}));
  EXPECT_TRUE(is_possible({.stripe_bytes = 65536}));
  EXPECT_FALSE(is_possible({.stripe_bytes = 65535}));
  EXPECT_FALSE(is_possible({.stripe_bytes = -65536}));
  constexpr std::int64_t longest_stripe = std::int64_t{1} << 40;
  EXPECT_TRUE(is_possible({.stripe_bytes = longest_stripe}));
  EXPECT_FALSE(is_possible({.stripe_bytes = longest_stripe + 65536}));
  EXPECT_FALSE(is_possible({.first_target = -1}));
  EXPECT_TRUE(is_possible({.pool = "flash-1.fast_2"}));
  EXPECT_FALSE(is_possible({.pool = "a b"}));
  EXPECT_TRUE(is_possible({.pool = std::string(255, 'p')}));
  EXPECT_FALSE(is_possible({.pool = std::string(256, 'p')}));
  EXPECT_FALSE(is_possible({.pool = "-c"}));
}

// A command `lfs` that writes down what it is asked for, and the table of mounts of a machine that
// has Lustre. What the real one does with it cannot be seen here.
class StripingOfLustre : public testing::Test {
 protected:
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  void SetUp() override {
    std::filesystem::create_directories(folder_.path("bin"));
    std::filesystem::create_directories(folder_.path("data"));
    say("echo \"$@\" >> " + folder_.path("asked") + "; [ -e \"${@: -1}\" ] || : > \"${@: -1}\"");
    const std::string root = std::filesystem::canonical(folder_.path("data")).string();
    std::ofstream(folder_.path("mounts"))
        << "40 27 0:40 / " << root << " rw - lustre 10.0.0.1@tcp:/scratch rw\n";
    before_ = getenv("PATH");
    setenv("PATH", (folder_.path("bin") + ":" + before_).c_str(), 1);
  }
  void TearDown() override { setenv("PATH", before_.c_str(), 1); }
  // NOLINTEND(concurrency-mt-unsafe)

  void say(const std::string& script) {
    const std::string name = folder_.path("bin/lfs");
    std::ofstream(name) << "#!/bin/bash\n" << script << "\n";
    std::filesystem::permissions(name, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] std::string asked() const { return text_of(folder_.path("asked")); }
  [[nodiscard]] Status make(const std::string& name, const Striping& striping) const {
    return make_striped_file(folder_.path("data/" + name), striping, folder_.path("mounts"));
  }

  TestFolder folder_;
  std::string before_;
};

TEST_F(StripingOfLustre, IsAskedForByTheCommand) {
  ASSERT_TRUE(
      make("a", {.count = 8, .stripe_bytes = 4 << 20, .first_target = 1, .pool = "flash"}).ok());
  EXPECT_EQ(asked(), "setstripe -c 8 -S 4194304 -i 0 -p flash " + folder_.path("data/a") + "\n");
  EXPECT_TRUE(std::filesystem::exists(folder_.path("data/a")));
  ASSERT_TRUE(make("b", {.count = Striping::all_targets}).ok());
  EXPECT_NE(asked().find("\nsetstripe -c -1 " + folder_.path("data/b") + "\n"), std::string::npos)
      << asked();
  ASSERT_TRUE(make("c", {}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.path("data/c")));
}

TEST_F(StripingOfLustre, TheCommandsErrorIsTold) {
  say("echo 'error: bad stripe count' >&2; echo second >&2; exit 2");
  const Status made = make("a", {.count = 8});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().text().find("error: bad stripe count second"), std::string::npos)
      << made.error().text();
  EXPECT_EQ(made.error().text().find('\n'), std::string::npos);
  std::filesystem::remove(folder_.path("bin/lfs"));
  const Status missing = make("a", {.count = 8});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::unsupported);
  EXPECT_NE(missing.error().text().find("lfs cannot be run"), std::string::npos);
}

TEST(Striping, OtherFileSystemsAreRefusedByName) {
  const TestFolder folder;
  const std::string root = std::filesystem::canonical(folder.path(".")).string();
  std::ofstream(folder.path("mounts")) << "51 27 0:51 / " << root << " rw - nfs4 server:/home rw\n";
  const Status made = make_striped_file(folder.path("a"), {.count = 8}, folder.path("mounts"));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::unsupported);
  EXPECT_NE(made.error().text().find("nfs4"), std::string::npos) << made.error().text();
  EXPECT_NE(made.error().text().find("stripe_count 8"), std::string::npos);
  const auto possible = [&](const Striping& striping) {
    return striped_system_of(folder.path("."), striping, folder.path("mounts"));
  };
  EXPECT_EQ(possible({.count = 8}).error().code, ErrorCode::unsupported);
  std::ofstream(folder.path("mounts"))
      << "51 27 0:51 / " << root << " rw - fuse.ceph-fuse server:/home rw\n";
  ASSERT_TRUE(possible({.count = 8}).ok());
  EXPECT_EQ(possible({.count = 8}).value(), StripedSystem::ceph);
  EXPECT_FALSE(possible({.count = Striping::all_targets}).ok());
  EXPECT_FALSE(possible({.first_target = 1}).ok());
  EXPECT_FALSE(possible({.count = -2}).ok());
}

// Every format asks for the layout that its description has: here it cannot be had.
TEST(Striping, EveryFormatAsksForIt) {
  for (const Format* const format : all_formats()) {
    const TestFolder folder;
    FileDescription file;
    file.arrays.push_back({.name = "a",
                           .shape = array::Shape::create({4}).value(),
                           .type = array::ElementType::parse("int32").value()});
    const std::string path = folder.path("file");
    ASSERT_TRUE(format->lay_out(file, path).ok()) << format->name();
    remove_incomplete(path);
    file.striping = {.count = 8};
    const auto room = format->lay_out(file, path);
    ASSERT_FALSE(room.ok()) << format->name();
    EXPECT_EQ(room.error().code, ErrorCode::unsupported) << room.error().text();
    EXPECT_TRUE(std::filesystem::is_empty(folder.path("."))) << format->name();
  }
  const TestFolder folder;
  FileDescription array{.arrays = {{.name = "a",
                                    .shape = array::Shape::create({4}).value(),
                                    .type = array::ElementType::parse("int32").value()}},
                        .in_place = Placement{}};
  const Format& raw = *find_format("raw").value();
  EXPECT_TRUE(raw.lay_out(array, folder.path("a")).ok());
  array.striping = {.count = 8};
  EXPECT_FALSE(raw.lay_out(array, folder.path("a")).ok());
}

}  // namespace
}  // namespace weir::storage

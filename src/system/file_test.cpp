#include "system/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

class FileTest : public testing::Test {
 protected:
  TestFolder test_folder_;
  std::string data_path_ = test_folder_.path("data");

  void write_text(const std::string& text) const { std::ofstream(data_path_) << text; }
  [[nodiscard]] std::uintmax_t size() const { return std::filesystem::file_size(data_path_); }
};

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

TEST_F(FileTest, CreatesAMissingFileOnlyWhenAsked) {
  const auto refused = File::open(data_path_, {.read = true, .write = true});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().system_error, ENOENT);
  EXPECT_EQ(refused.error().operation, "open");
  EXPECT_EQ(refused.error().file, data_path_);

  const auto created = File::open(data_path_, {.read = true, .write = true, .create = true});
  ASSERT_TRUE(created.ok()) << created.error().text();
  EXPECT_EQ(created.value().path(), data_path_);
  EXPECT_EQ(size(), 0U);
}

TEST_F(FileTest, KeepsOrEmptiesAnExistingFileAsAsked) {
  write_text("kept");
  ASSERT_TRUE(File::open(data_path_, {.write = true, .create = true}).ok());
  EXPECT_EQ(size(), 4U);
  ASSERT_TRUE(File::open(data_path_, {.write = true, .truncate = true}).ok());
  EXPECT_EQ(size(), 0U);
}

TEST_F(FileTest, OpensInTheModeAskedFor) {
  write_text("x");
  const auto mode = [&](const OpenOptions& options) {
    const auto file = File::open(data_path_, options);
    return file.ok() ? ::fcntl(file.value().descriptor(), F_GETFL) & O_ACCMODE : -1;
  };
  EXPECT_EQ(mode({.read = true, .write = false}), O_RDONLY);
  EXPECT_EQ(mode({.read = false, .write = true}), O_WRONLY);
  EXPECT_EQ(mode({.read = true, .write = true}), O_RDWR);
}

TEST_F(FileTest, RefusesContradictions) {
  const auto neither = File::open(data_path_, {.read = false, .write = false});
  ASSERT_FALSE(neither.ok());
  EXPECT_EQ(neither.error().code, ErrorCode::invalid_argument);
  const auto emptied = File::open(data_path_, {.read = true, .truncate = true});
  ASSERT_FALSE(emptied.ok());
  EXPECT_EQ(emptied.error().code, ErrorCode::invalid_argument);
}

TEST_F(FileTest, ChildProgramsDoNotInheritIt) {
  const auto file = File::open(data_path_, {.write = true, .create = true});
  ASSERT_TRUE(file.ok());
  EXPECT_NE(::fcntl(file.value().descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(FileTest, ClosesWhenItEndsAndOnlyOnce) {
  int descriptor = -1;
  {
    auto opened = File::open(data_path_, {.write = true, .create = true});
    ASSERT_TRUE(opened.ok());
    File file = std::move(opened).value();
    descriptor = file.descriptor();
    EXPECT_TRUE(is_open(descriptor));
  }
  EXPECT_FALSE(is_open(descriptor));

  auto opened = File::open(data_path_, {.write = true});
  ASSERT_TRUE(opened.ok());
  File& file = opened.value();
  EXPECT_TRUE(file.close().ok());
  EXPECT_EQ(file.descriptor(), -1);
  EXPECT_TRUE(file.close().ok());
}

TEST_F(FileTest, MovingHandsTheDescriptorOver) {
  auto first = File::open(data_path_, {.write = true, .create = true});
  auto second = File::open(data_path_, {.read = true});
  ASSERT_TRUE(first.ok() && second.ok());
  const int kept = first.value().descriptor();
  const int replaced = second.value().descriptor();
  second.value() = std::move(first.value());
  EXPECT_EQ(second.value().descriptor(), kept);
  EXPECT_TRUE(is_open(kept));
  EXPECT_FALSE(is_open(replaced));
}

TEST_F(FileTest, DoesNotWaitForTheWriterOfAPipe) {
  ASSERT_EQ(::mkfifo(data_path_.c_str(), 0600), 0);
  const auto pipe = File::open(data_path_, {});
  ASSERT_TRUE(pipe.ok()) << pipe.error().text();
  EXPECT_EQ(::fcntl(pipe.value().descriptor(), F_GETFL) & O_NONBLOCK, 0);
  char byte = 0;
  EXPECT_EQ(::pread(pipe.value().descriptor(), &byte, 1, 0), -1);
}

TEST_F(FileTest, DirectIoWhereTheFileSystemOffersIt) {
  const auto file = File::open(data_path_, {.write = true, .create = true, .direct = true});
  if (!file.ok()) {
    EXPECT_EQ(file.error().code, ErrorCode::unsupported);
    EXPECT_NE(file.error().text().find("O_DIRECT"), std::string::npos);
    return;
  }
  EXPECT_NE(::fcntl(file.value().descriptor(), F_GETFL) & O_DIRECT, 0);
}

}  // namespace
}  // namespace weir::storage

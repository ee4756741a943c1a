// Rows that are written together: every byte of the file is compared with a model, beside other
// processes that write between the rows, cut the file off, or leave no space for it.
#include "system/scattered_write.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "system/file_facts.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

using FileContent = std::vector<std::byte>;

// Rows in a file, with the bytes that belong there.
class Rows {
 public:
  // The rows have equal lengths and equal distances.
  Rows(std::int64_t count, std::int64_t bytes, std::int64_t offset, std::int64_t stride,
       unsigned char value)
      : memory_(static_cast<std::size_t>(count * bytes), std::byte{value}) {
    for (std::int64_t row = 0; row < count; ++row) {
      rows_.push_back({offset + row * stride, {memory_.data() + row * bytes, bytes}});
    }
  }

  [[nodiscard]] const std::vector<PlacedSlice>& all() const { return rows_; }
  Status write(const File& file) {
    bytes_ = calls_ = 0;
    return write_scattered(file, rows_, bytes_, calls_);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t calls() const { return calls_; }
  void put_into(FileContent& file) const {
    for (const PlacedSlice& row : rows_) {
      const auto end = static_cast<std::size_t>(row.offset + row.slice.bytes);
      if (file.size() < end) file.resize(end);
      std::copy_n(row.slice.data, row.slice.bytes, file.begin() + row.offset);
    }
  }

 private:
  FileContent memory_;
  std::vector<PlacedSlice> rows_;
  std::int64_t bytes_ = 0;
  std::int64_t calls_ = 0;
};

// Runs a part of a test in another process, which it may end; returns how that ended.
template <typename Run>
int in_child(const Run& run) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

class ScatteredWrite : public testing::Test {
 protected:
  TestFolder folder_;
  std::string path_ = folder_.path("data");

  [[nodiscard]] File open(const std::string& path, bool read = true) const {
    return File::open(path, {.read = read, .write = true, .create = true}).value();
  }
  // std::memcmp takes a hundredth of the time of == where nothing is optimised.
  [[nodiscard]] bool content_is(const FileContent& expected) const {
    if (std::filesystem::file_size(path_) != expected.size()) return false;
    FileContent bytes(expected.size());
    std::ifstream stream(path_, std::ios::binary);
    stream.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
    return stream.gcount() == std::ssize(bytes) &&
           std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0;
  }
  // Returns whether rows on this file system are mapped.
  [[nodiscard]] bool is_mapped() const {
    const auto type = facts_of(folder_.folder().string()).value().file_system;
    return type == EXT4_SUPER_MAGIC || type == TMPFS_MAGIC || type == 0x58465342;
  }
};

TEST_F(ScatteredWrite, ManyRowsTakeFewCallsAndChangeNoByteBetweenThem) {
  const File file = open(path_);
  FileContent expected(300'000, std::byte{9});
  const Slice all{expected.data(), std::ssize(expected)};
  std::int64_t calls = 0;
  ASSERT_TRUE(write_slices(file, {&all, 1}, 0, calls).ok());
  Rows rows(1000, 64, 4321, 128, 1);
  ASSERT_TRUE(rows.write(file).ok());
  rows.put_into(expected);
  EXPECT_TRUE(content_is(expected));
  EXPECT_EQ(rows.bytes(), 64'000);
  if (is_mapped()) {
    EXPECT_EQ(rows.calls(), 2);
  }
}

TEST_F(ScatteredWrite, RowsAnywhereInMemoryAndFileAreWritten) {
  std::mt19937 random(5);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const File file = open(path_);
  FileContent expected;
  FileContent memory(1 << 20);
  for (std::byte& one : memory) one = std::byte(random());
  for (int round = 0; round < 15; ++round) {
    std::vector<PlacedSlice> rows;
    std::int64_t offset = between(0, 100'000);
    std::int64_t at = std::int64_t{4099} * round;  // so that no round writes what one before it did
    std::int64_t wanted = 0;
    const std::int64_t most_hole = round % 3 == 0 ? 20'000 : 300;
    const std::int64_t most_row = round % 5 == 0 ? 9000 : 200;
    for (std::int64_t count = between(1, 3000); count > 0; --count) {
      const std::int64_t bytes = between(1, most_row);
      at += between(0, 1) * between(0, 50);
      if (at + bytes > std::ssize(memory)) break;
      rows.push_back({offset, {memory.data() + at, bytes}});
      wanted += bytes;
      at += bytes;
      offset += bytes + between(0, 3) / 3 * between(0, most_hole) + between(0, 1);
    }
    std::int64_t bytes = 0;
    std::int64_t calls = 0;
    ASSERT_TRUE(write_scattered(file, rows, bytes, calls).ok());
    EXPECT_EQ(bytes, wanted);
    for (const PlacedSlice& row : rows) {
      const auto end = static_cast<std::size_t>(row.offset + row.slice.bytes);
      if (expected.size() < end) expected.resize(end);
      std::copy_n(row.slice.data, row.slice.bytes, expected.begin() + row.offset);
    }
    ASSERT_TRUE(content_is(expected)) << round;
  }
}

// Both processes grow the file, and one or both map it.
TEST_F(ScatteredWrite, OtherProcessesWriteBetweenTheRowsAtTheSameTime) {
  for (const bool both_map : {true, false}) {
    for (const std::int64_t row_bytes : {std::int64_t{8}, std::int64_t{64}, std::int64_t{700}}) {
      SCOPED_TRACE(row_bytes);
      std::filesystem::remove(path_);
      const File file = open(path_);
      constexpr std::int64_t count = 2000;
      constexpr int rounds = 10;
      const auto value = [](int round, int process) {
        return static_cast<unsigned char>(1 + 2 * round + process);
      };
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        bool good = true;
        for (int round = 0; round < rounds && good; ++round) {
          Rows rows(count, row_bytes, row_bytes, 2 * row_bytes, value(round, 1));
          if (both_map) {
            good = rows.write(file).ok();
            continue;
          }
          std::int64_t calls = 0;
          for (const PlacedSlice& row : rows.all()) {
            good = good && write_slices(file, {&row.slice, 1}, row.offset, calls).ok();
          }
        }
        ::_exit(good ? 0 : 1);
      }
      for (int round = 0; round < rounds; ++round) {
        Rows rows(count, row_bytes, 0, 2 * row_bytes, value(round, 0));
        EXPECT_TRUE(rows.write(file).ok());
      }
      int status = -1;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_EQ(status, 0);
      FileContent expected;
      for (const int process : {0, 1}) {
        Rows(count, row_bytes, process * row_bytes, 2 * row_bytes, value(rounds - 1, process))
            .put_into(expected);
      }
      EXPECT_TRUE(content_is(expected));
    }
  }
}

TEST_F(ScatteredWrite, TheFileEndsBehindTheLastRowAndHasANewTime) {
  const File file = open(path_);
  const std::vector<timespec> long_ago(2, timespec{.tv_sec = 1, .tv_nsec = 0});
  ASSERT_EQ(::futimens(file.descriptor(), long_ago.data()), 0);
  Rows rows(100, 50, 10'000, 200, 7);
  ASSERT_TRUE(rows.write(file).ok());
  struct stat facts {};
  ASSERT_EQ(::fstat(file.descriptor(), &facts), 0);
  EXPECT_EQ(facts.st_size, 10'000 + 99 * 200 + 50);
  EXPECT_GT(facts.st_mtim.tv_sec, 1);
  FileContent expected;
  rows.put_into(expected);
  EXPECT_TRUE(content_is(expected));
}

TEST_F(ScatteredWrite, AFileThatIsOpenForWritingOnlyIsWrittenRowByRow) {
  const File file = open(path_, false);
  Rows rows(100, 50, 3, 200, 7);
  ASSERT_TRUE(rows.write(file).ok());
  EXPECT_EQ(rows.calls(), 100);
  FileContent expected;
  rows.put_into(expected);
  EXPECT_TRUE(content_is(expected));
}

// The file is long enough, so that only its pages find that there is no space.
TEST_F(ScatteredWrite, UsedUpSpaceIsAnErrorAndNoSignal) {
  const std::string small = folder_.path("small");
  std::filesystem::create_directory(small);
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a small file system: " << std::generic_category().message(errno);
  }
  const int status = in_child([&] {
    const File file = open(small + "/data");
    if (!file.set_length(1 << 20).ok()) return false;
    Rows rows(4000, 64, 0, 128, 7);
    const Status written = rows.write(file);
    return !written.ok() && written.error().system_error == ENOSPC;
  });
  ASSERT_EQ(::umount2(small.c_str(), MNT_DETACH), 0);
  EXPECT_EQ(status, 0);
}

TEST_F(ScatteredWrite, TheLimitOfFileSizesHolds) {
  constexpr std::int64_t limit_bytes = 10'000;
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{limit_bytes, limit_bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const File file = open(path_);
    Rows rows(100, 64, 0, 128, 7);
    const Status written = rows.write(file);
    return !written.ok() && written.error().system_error == EFBIG;
  });
  EXPECT_EQ(status, 0);
  EXPECT_LE(std::filesystem::file_size(path_), std::uintmax_t{limit_bytes});
}

TEST_F(ScatteredWrite, AFileThatIsCutOffMeanwhileEndsNoProcess) {
  const pid_t cutter = ::fork();
  ASSERT_GE(cutter, 0);
  if (cutter == 0) {
    const File file = open(path_);
    for (;;) (void)file.set_length(100);
  }
  const int status = in_child([&] {
    const File file = open(path_);
    bool good = true;
    for (int round = 0; round < 100; ++round) {
      Rows rows(1000, 64, 0, 512, 7);
      good = good && rows.write(file).ok() && rows.bytes() >= 64'000;
    }
    return good;
  });
  ::kill(cutter, SIGKILL);
  ASSERT_EQ(::waitpid(cutter, nullptr, 0), cutter);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace weir::storage

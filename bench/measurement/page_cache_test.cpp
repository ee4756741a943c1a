#include "measurement/page_cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr long tmpfs_magic = 0x01021994;

class PageCacheTest : public testing::Test {
 protected:
  static constexpr std::int64_t pages = 256;
  const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  TestFolder test_folder_;

  static File open(const std::string& path, const OpenOptions& options) {
    auto file = File::open(path, options);
    if (!file.ok()) throw std::runtime_error(file.error().text());
    return std::move(file).value();
  }

  // A file of `pages` pages, all of them clean, of which `pages_cached` from `first` on are cached.
  File file_with_pages(std::int64_t first, std::int64_t pages_cached) {
    File file = open(test_folder_.path("data"), {.read = true, .write = true, .create = true});
    std::vector<char> page(static_cast<std::size_t>(page_bytes), 'w');
    for (std::int64_t i = 0; i < pages; ++i) {
      if (::pwrite(file.descriptor(), page.data(), page.size(), i * page_bytes) != page_bytes) {
        throw std::runtime_error(std::generic_category().message(errno));
      }
    }
    ::fsync(file.descriptor());
    ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
    ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM);  // no reading ahead
    for (std::int64_t i = first; i < first + pages_cached; ++i) {
      if (::pread(file.descriptor(), page.data(), page.size(), i * page_bytes) != page_bytes) {
        throw std::runtime_error(std::generic_category().message(errno));
      }
    }
    return file;
  }

  // Returns whether the tests' file system keeps pages in memory alone: nothing can be dropped
  // there.
  [[nodiscard]] bool lives_in_memory() const {
    struct statfs information {};
    return ::statfs(test_folder_.folder().c_str(), &information) == 0 &&
           information.f_type == tmpfs_magic;
  }
};

double resident(const File& file, std::int64_t offset, std::int64_t bytes, std::int64_t samples) {
  const auto fraction = resident_fraction(file, offset, bytes, samples);
  if (!fraction.ok()) throw std::runtime_error(fraction.error().text());
  return fraction.value();
}

TEST_F(PageCacheTest, DroppedPagesAreNoLongerResident) {
  if (lives_in_memory()) GTEST_SKIP() << "the tests' folder is in memory";
  const File file = file_with_pages(0, pages);
  const std::int64_t bytes = pages * page_bytes;
  EXPECT_EQ(resident(file, 0, bytes, pages), 1.0);
  ASSERT_TRUE(drop_cached_pages(file, 0, bytes).ok());
  EXPECT_EQ(resident(file, 0, bytes, pages), 0.0);
}

TEST_F(PageCacheTest, DropsTheRangeAskedForAndPagesThatItTouches) {
  if (lives_in_memory()) GTEST_SKIP() << "the tests' folder is in memory";
  const File file = file_with_pages(0, pages);
  // From within page 64 to within page 127.
  ASSERT_TRUE(
      drop_cached_pages(file, 64 * page_bytes + 100, 63 * page_bytes + page_bytes / 2).ok());
  EXPECT_EQ(resident(file, 0, 64 * page_bytes, pages), 1.0);
  EXPECT_EQ(resident(file, 64 * page_bytes, 64 * page_bytes, pages), 0.0);
  EXPECT_EQ(resident(file, 128 * page_bytes, 128 * page_bytes, pages), 1.0);
}

TEST_F(PageCacheTest, CountsAndSamplesResidentPages) {
  if (lives_in_memory()) GTEST_SKIP() << "the tests' folder is in memory";
  const File file = file_with_pages(32, 64);
  const std::int64_t bytes = pages * page_bytes;
  EXPECT_EQ(resident(file, 0, bytes, pages), 0.25);
  EXPECT_EQ(resident(file, 0, bytes, 1'000'000), 0.25);
  EXPECT_EQ(resident(file, 0, bytes, 8), 0.25);  // pages 0, 32, 64, 96, …
  EXPECT_EQ(resident(file, 0, bytes, 1), 0.0);
  EXPECT_EQ(resident(file, 32 * page_bytes, 64 * page_bytes, 7), 1.0);
  // One byte at the end of the page before, one at the start of the first cached one.
  EXPECT_EQ(resident(file, 32 * page_bytes - 1, 2, 10), 0.5);
}

// Larger than one mapping; holes that were never read have no page.
TEST_F(PageCacheTest, LooksThroughALargeSparseFileInWindows) {
  const std::int64_t bytes = std::int64_t{1} << 40;
  const File file =
      open(test_folder_.path("sparse"), {.read = true, .write = true, .create = true});
  if (::ftruncate(file.descriptor(), bytes) != 0)
    GTEST_SKIP() << std::generic_category().message(errno);
  ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM);
  EXPECT_EQ(resident(file, 0, bytes, 1000), 0.0);
  const std::int64_t half = bytes / 2;
  ASSERT_EQ(::pwrite(file.descriptor(), "x", 1, half), 1);
  EXPECT_EQ(resident(file, 0, bytes, 2), 0.5);
  // 40,000 pages are three windows, of which the page written is in the second.
  EXPECT_EQ(resident(file, half - 20'000 * page_bytes, 40'000 * page_bytes, 40'000), 1.0 / 40'000);
}

TEST_F(PageCacheTest, LooksOnlyAtTheFile) {
  const File file = file_with_pages(0, pages);
  const std::int64_t bytes = pages * page_bytes;
  EXPECT_EQ(resident(file, bytes - page_bytes, 100 * page_bytes, 50), 1.0);
  const auto behind = resident_fraction(file, bytes, 1, 1);
  ASSERT_FALSE(behind.ok());
  EXPECT_EQ(behind.error().code, ErrorCode::invalid_argument);
}

TEST_F(PageCacheTest, RefusesRangesThatCannotBe) {
  const File file = file_with_pages(0, 0);
  const std::vector<std::pair<std::int64_t, std::int64_t>> wrong = {
      {-1, 10}, {0, 0}, {0, -5}, {std::int64_t{1} << 62, std::int64_t{1} << 62}};
  for (const auto& [offset, bytes] : wrong) {
    const Status dropped = drop_cached_pages(file, offset, bytes);
    ASSERT_FALSE(dropped.ok());
    EXPECT_EQ(dropped.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(resident_fraction(file, offset, bytes, 1).error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(resident_fraction(file, 0, 10, 0).error().code, ErrorCode::invalid_argument);
}

TEST_F(PageCacheTest, NamesWhatTheSystemRefuses) {
  File file = file_with_pages(0, 0);
  const File write_only = open(file.path(), {.read = false, .write = true});
  const auto unreadable = resident_fraction(write_only, 0, 10, 1);
  ASSERT_FALSE(unreadable.ok());
  EXPECT_EQ(unreadable.error().system_error, EACCES);

  ASSERT_TRUE(file.close().ok());
  EXPECT_EQ(drop_cached_pages(file, 0, 10).error().system_error, EBADF);
  EXPECT_EQ(resident_fraction(file, 0, 10, 1).error().system_error, EBADF);
  EXPECT_EQ(device_counters(file).error().system_error, EBADF);
}

TEST_F(PageCacheTest, CountsWhatTheDeviceUnderAFileWrites) {
  const File file = file_with_pages(0, 0);
  const auto before = device_counters(file);
  if (!before.ok()) {
    ASSERT_EQ(before.error().code, ErrorCode::unsupported);
    GTEST_SKIP() << before.error().text();
  }
  const std::vector<char> data(4 << 20, 'd');
  ASSERT_EQ(::pwrite(file.descriptor(), data.data(), data.size(), 0),
            static_cast<ssize_t>(data.size()));
  ASSERT_EQ(::fsync(file.descriptor()), 0);
  const auto written = device_counters(file);
  ASSERT_TRUE(written.ok());
  EXPECT_GE(written.value().bytes_written - before.value().bytes_written, 4 << 20);

  ASSERT_TRUE(drop_cached_pages(file, 0, 4 << 20).ok());
  std::vector<char> buffer(data.size());
  ASSERT_EQ(::pread(file.descriptor(), buffer.data(), buffer.size(), 0),
            static_cast<ssize_t>(buffer.size()));
  const auto read = device_counters(file);
  ASSERT_TRUE(read.ok());
  EXPECT_GE(read.value().bytes_read - written.value().bytes_read, 4 << 20);
}

TEST(DeviceCountersTest, AFileSystemWithoutADeviceHasNone) {
  const auto file = File::open("/proc/self/status", {.read = true});
  ASSERT_TRUE(file.ok());
  const auto counters = device_counters(file.value());
  ASSERT_FALSE(counters.ok());
  EXPECT_EQ(counters.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace weir::storage

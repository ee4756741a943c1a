#include "engines/cold_reading.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t cold_file_bytes = 1 << 20;

std::byte value_at(std::int64_t offset) {
  return static_cast<std::byte>(offset * 7 + offset / 251);
}

class ColdReadingOfFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::byte> all;
    all.reserve(cold_file_bytes);
    for (std::int64_t at = 0; at < cold_file_bytes; ++at) all.push_back(value_at(at));
    const Slice slice{all.data(), cold_file_bytes};
    std::int64_t calls = 0;
    ASSERT_TRUE(write_slices(file_, {&slice, 1}, 0, calls).ok());
    ASSERT_EQ(::fsync(file_.descriptor()), 0);
  }
  void drop_pages() const {
    ASSERT_EQ(::posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  // Returns whether the system can say that the file's first byte is not in memory.
  [[nodiscard]] bool is_seen_to_be_cold() const {
    std::byte byte{};
    const iovec one{&byte, 1};
    return ::preadv2(file_.descriptor(), &one, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN;
  }
  void expect_read(std::int64_t offset, std::int64_t bytes) {
    std::vector<std::byte> data(static_cast<std::size_t>(bytes));
    const Slice slice{data.data(), bytes};
    std::int64_t read = 0;
    ASSERT_TRUE(reading_.read(file_, {&slice, 1}, offset, read, calls_).ok());
    ASSERT_EQ(read, std::min(bytes, cold_file_bytes - offset));
    for (std::int64_t i = 0; i < read; ++i) {
      ASSERT_EQ(data[static_cast<std::size_t>(i)], value_at(offset + i)) << "at " << offset + i;
    }
  }

  TestFolder folder_;
  File file_ = File::open(folder_.path("a"), {.read = true, .write = true, .create = true}).value();
  ColdReading reading_;
  std::int64_t calls_ = 0;
};

TEST_F(ColdReadingOfFile, WhatIsInMemoryTakesOneCall) {
  expect_read(4096, 64 << 10);
  EXPECT_FALSE(reading_.cold());
  EXPECT_EQ(calls_, 1);
}

// A kernel that is asked not to wait may begin to read ahead, and answer with the byte if the disk
// was fast enough. So both the question here and the one in ColdReading may miss it now and then.
TEST_F(ColdReadingOfFile, WhatIsNotIsSeenAndReadAllTheSame) {
  bool is_seen = false;
  bool is_noticed = false;
  for (int attempt = 0; attempt < 30 && !(is_seen && is_noticed); ++attempt) {
    drop_pages();
    is_seen = is_seen || is_seen_to_be_cold();
    drop_pages();
    reading_ = ColdReading();
    expect_read(100, 200 << 10);
    is_noticed = is_noticed || reading_.cold();
  }
  EXPECT_EQ(is_noticed, is_seen);
  expect_read(512 << 10, 64 << 10);
  expect_read(700001, 3);
  expect_read(cold_file_bytes - 10, 5000);
}

TEST_F(ColdReadingOfFile, HalfInMemoryIsReadWhole) {
  drop_pages();
  expect_read(0, 4096);
  ColdReading anew;
  reading_ = anew;
  expect_read(0, 512 << 10);
}

}  // namespace
}  // namespace weir::storage

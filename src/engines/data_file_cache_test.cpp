#include "engines/data_file_cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "system/slices.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr int most_open = 64;

std::string chunk(const TestFolder& folder, int number) {
  return folder.path("c." + std::to_string(number));
}

Status write_chunk(DataFileCache& files, const std::string& path) {
  auto file = files.get(path, 4);
  if (!file) return file.error();
  std::vector<std::byte> bytes(4, std::byte{1});
  const Slice slice{bytes.data(), 4};
  return files.write(*file.value(), {&slice, 1}, 0);
}

// Makes each call on a descriptor fail, as a failing storage may.
class FailingStorage {
 public:
  void spoil(DataFileCache& files, const std::string& path) const {
    ::close(files.get(path, 4).value()->descriptor());
    // The next file that is opened gets this number, not the one that has just become free.
    ::close(spare_);
  }

 private:
  int spare_ = ::dup(0);
};

Status write_chunks(DataFileCache& files, const TestFolder& folder, int from, int to) {
  for (int i = from; i < to; ++i) {
    if (Status written = write_chunk(files, chunk(folder, i)); !written.ok()) return written;
  }
  return {};
}

TEST(DataFileCache, MakesDurableWhatItClosesAlongTheWay) {
  const TestFolder folder;
  FailingStorage failing;
  DataFileCache files(DataFileCache::Use::writing);
  ASSERT_TRUE(write_chunks(files, folder, 0, most_open).ok());
  failing.spoil(files, chunk(folder, 7));
  // Room for one more is made by making all durable that are open, and closing one of them.
  const Status written = write_chunk(files, chunk(folder, most_open));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().operation, "fdatasync");
  EXPECT_EQ(written.error().file, chunk(folder, 7));
  // What is lost stays so, whoever asks.
  EXPECT_FALSE(files.sync().ok());
  EXPECT_FALSE(files.sync().ok());
}

TEST(DataFileCache, KeepsOpenWhatSomebodyUses) {
  const TestFolder folder;
  DataFileCache files(DataFileCache::Use::writing);
  std::vector<std::shared_ptr<const File>> used;
  used.reserve(most_open);
  for (int i = 0; i < most_open; ++i) used.push_back(files.get(chunk(folder, i), 4).value());
  ASSERT_TRUE(write_chunks(files, folder, most_open, most_open + 8).ok());
  for (int i = 0; i < most_open; ++i) {
    EXPECT_EQ(files.get(chunk(folder, i), 4).value(), used[static_cast<std::size_t>(i)]);
  }
  EXPECT_TRUE(files.sync().ok());
}

TEST(DataFileCache, TellsWhenAWrittenFileCannotBeClosed) {
  const TestFolder folder;
  FailingStorage failing;
  DataFileCache files(DataFileCache::Use::writing, nullptr, DataFileCache::Closing::leaves_to_sync);
  ASSERT_TRUE(write_chunks(files, folder, 0, most_open).ok());
  failing.spoil(files, chunk(folder, 0));
  ASSERT_TRUE(write_chunks(files, folder, 1, most_open).ok());  // the first is the oldest now
  const Status written = write_chunk(files, chunk(folder, most_open));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().operation, "close");
  EXPECT_FALSE(files.sync().ok());
  files.forget_losses();
  EXPECT_TRUE(files.sync().ok());
}

// A step that was given up leaves files, which another process removes.
TEST(DataFileCache, AClosedFileMayBeRemovedBeforeSync) {
  const TestFolder folder;
  DataFileCache files(DataFileCache::Use::writing, nullptr, DataFileCache::Closing::leaves_to_sync);
  ASSERT_TRUE(write_chunks(files, folder, 0, most_open + 1).ok());
  for (int i = 0; i <= most_open; ++i) std::filesystem::remove(chunk(folder, i));
  EXPECT_TRUE(files.sync().ok());
}

TEST(DataFileCache, MakesDurableWhatWasWrittenByOtherMeans) {
  const TestFolder folder;
  DataFileCache files(DataFileCache::Use::writing);
  const auto keep = [&](int number) {
    return files.keep_written(
        File::open(chunk(folder, number), {.write = true, .create = true}).value());
  };
  constexpr int most_kept = 8;
  for (int i = 1; i < most_kept; ++i) ASSERT_TRUE(keep(i).ok());
  auto lost = File::open(chunk(folder, 0), {.write = true, .create = true}).value();
  ::close(lost.descriptor());
  const Status kept = files.keep_written(std::move(lost));
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().operation, "fdatasync");
  EXPECT_FALSE(files.sync().ok());
}

}  // namespace
}  // namespace weir::storage

#include "stager/spill_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "system/slices.hpp"
#include "system/test_folder.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t bytes_of_a_block = 100;
constexpr std::int64_t slot_bytes = 4096;

std::vector<std::byte> bytes_from(int first) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of_a_block));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
  }
  return bytes;
}

std::string refusal(const Result<std::unique_ptr<SpillFile>>& made) {
  return made.ok() ? "" : made.error().text();
}

TEST(SpillFile, GivesBackWhatWasPut) {
  storage::TestFolder folder;
  auto made = SpillFile::create(folder.path("spill"), 4 * slot_bytes + 1, bytes_of_a_block);
  ASSERT_TRUE(made.ok()) << made.error().text();
  const SpillFile& file = *made.value();
  EXPECT_EQ(file.slots(), 4);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("spill"))) << "the file has a name";
  std::vector<std::vector<std::byte>> all;
  all.reserve(4);
  for (int slot = 0; slot < 4; ++slot) all.push_back(bytes_from(7 * slot));
  for (const std::size_t slot : {3U, 0U, 2U, 1U}) {
    ASSERT_TRUE(file.put(static_cast<std::int64_t>(slot), slot + 1, all[slot]).ok());
  }
  for (std::size_t slot = 0; slot < 4; ++slot) {
    std::vector<std::byte> got(all[slot].size());
    ASSERT_TRUE(file.get(static_cast<std::int64_t>(slot), slot + 1, got).ok());
    EXPECT_EQ(got, all[slot]);
  }
  struct stat about {};
  ASSERT_TRUE(file.empty().ok());
  ASSERT_EQ(::fstat(file.file().descriptor(), &about), 0);
  EXPECT_EQ(about.st_blocks, 0);
}

TEST(SpillFile, NoticesEveryDamagedByte) {
  storage::TestFolder folder;
  auto made = SpillFile::create(folder.path("spill"), slot_bytes, bytes_of_a_block);
  ASSERT_TRUE(made.ok()) << made.error().text();
  const SpillFile& file = *made.value();
  std::vector<std::byte> put = bytes_from(1);
  ASSERT_TRUE(file.put(0, 5, put).ok());
  std::vector<std::byte> got(put.size());
  const auto record = static_cast<std::int64_t>(record_head_bytes + put.size());
  for (std::int64_t at = 0; at < record; ++at) {
    std::byte one{};
    const storage::Slice slice{&one, 1};
    std::int64_t calls = 0;
    std::int64_t read = 0;
    ASSERT_TRUE(storage::read_slices(file.file(), {&slice, 1}, at, read, calls).ok());
    one ^= std::byte{4};
    ASSERT_TRUE(storage::write_slices(file.file(), {&slice, 1}, at, calls).ok());
    const Status damaged = file.get(0, 5, got);
    ASSERT_FALSE(damaged.ok()) << "byte " << at;
    EXPECT_EQ(damaged.error().code, ErrorCode::corrupt);
    one ^= std::byte{4};
    ASSERT_TRUE(storage::write_slices(file.file(), {&slice, 1}, at, calls).ok());
  }
  ASSERT_TRUE(file.get(0, 5, got).ok());
  EXPECT_FALSE(file.get(0, 4, got).ok()) << "an earlier record of the slot";
  EXPECT_FALSE(file.get(0, 5, std::span(got).first(99)).ok()) << "a record of other length";
  for (const std::int64_t end : {record - 1, std::int64_t{20}, std::int64_t{0}}) {
    ASSERT_TRUE(file.file().set_length(end).ok());
    EXPECT_FALSE(file.get(0, 5, got).ok()) << "a file that ends at " << end;
  }
}

TEST(SpillFile, IsMadeOnlyInAFolderOfItsUser) {
  storage::TestFolder folder;
  const std::string open_to_all = folder.path("open");
  ASSERT_EQ(::mkdir(open_to_all.c_str(), S_IRWXU), 0);
  ASSERT_EQ(::chmod(open_to_all.c_str(), 0755), 0);
  EXPECT_NE(refusal(SpillFile::create(open_to_all, slot_bytes, bytes_of_a_block)).find("chmod 700"),
            std::string::npos);
  const std::string own = folder.path("own");
  ASSERT_EQ(::mkdir(own.c_str(), S_IRWXU), 0);
  const std::string link = folder.path("link");
  ASSERT_EQ(::symlink(own.c_str(), link.c_str()), 0);
  EXPECT_NE(refusal(SpillFile::create(link, slot_bytes, bytes_of_a_block)), "");
  EXPECT_EQ(refusal(SpillFile::create(own, slot_bytes, bytes_of_a_block)), "");
  EXPECT_NE(refusal(SpillFile::create(own, slot_bytes - 1, bytes_of_a_block)).find("at least 4096"),
            std::string::npos);
  EXPECT_NE(refusal(SpillFile::create(folder.path("no/folder"), slot_bytes, bytes_of_a_block)), "");
}

}  // namespace
}  // namespace weir::stager

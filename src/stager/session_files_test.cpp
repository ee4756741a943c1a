#include "stager/session_files.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t file_block_bytes = 4;

// Each rank names the file itself, so one path has several names in a job.
TEST(SessionFiles, WriteOverlappingExtentsOfSeveralRanksInTheOrderOfTheirArrival) {
  storage::TestFolder folder;
  const std::string path = folder.path("f");
  storage::write_text(path, "");
  const transport::NameFile first{
      .file = 1, .path = path, .bytes_when_made = 0, .known = std::nullopt};
  const transport::NameFile second{
      .file = 7, .path = path, .bytes_when_made = 0, .known = std::nullopt};
  const std::string blocks = "aaaabbbbccccdddd";
  std::vector<std::byte> memory(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) memory[i] = static_cast<std::byte>(blocks[i]);
  SessionFiles files(memory, file_block_bytes, nullptr);
  const auto extent = [](std::int64_t block, std::size_t file, std::int64_t offset) {
    return BlockExtent{.block = block, .at = 0, .bytes = 4, .file = file, .offset = offset};
  };
  const Write job{.job = 1,
                  .session = 1,
                  .files = {first, second},
                  .extents = {extent(0, 0, 8), extent(1, 1, 0), extent(2, 0, 2), extent(3, 1, 6)}};
  const Status written = files.execute(job);
  ASSERT_TRUE(written.ok()) << written.error().text();
  ASSERT_TRUE(files.execute(Seal{}).ok());
  EXPECT_EQ(storage::text_of(path), "bbccccddddaa");
}

TEST(SessionFiles, WriteSpilledBytesAndThoseInMemory) {
  storage::TestFolder folder;
  const std::string path = folder.path("f");
  storage::write_text(path, "");
  auto spill = SpillFile::create(folder.path("spill"), 1 << 20, file_block_bytes);
  ASSERT_TRUE(spill.ok()) << spill.error().text();
  const std::string spilled = "ccaadd";
  std::vector<std::byte> bytes(spilled.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(spilled[i]);
  const std::span<std::byte> all(bytes);
  ASSERT_TRUE(spill.value()->put(3, 11, all.first(4)).ok());
  ASSERT_TRUE(spill.value()->put(1, 12, all.subspan(4)).ok());
  std::vector<std::byte> memory(file_block_bytes, std::byte{'b'});
  SessionFiles files(memory, file_block_bytes, spill.value().get());
  const transport::NameFile named{
      .file = 1, .path = path, .bytes_when_made = 0, .known = std::nullopt};
  Write job{.job = 1, .session = 1, .files = {named}, .extents = {}};
  job.spilled = {{.slot = 3, .bytes = 4, .stamp = 11}, {.slot = 1, .bytes = 2, .stamp = 12}};
  job.extents = {{.block = 0, .at = 0, .bytes = 2, .offset = 6, .is_spilled = true},
                 {.block = 0, .at = 2, .bytes = 2, .offset = 0, .is_spilled = true},
                 {.block = 0, .at = 0, .bytes = 4, .offset = 2},
                 {.block = 1, .at = 0, .bytes = 2, .offset = 8, .is_spilled = true}};
  const Status written = files.execute(job);
  ASSERT_TRUE(written.ok()) << written.error().text();
  ASSERT_TRUE(files.execute(Seal{}).ok());
  EXPECT_EQ(storage::text_of(path), "aabbbbccdd");
  // Bytes that are not those that were put reach no file.
  job.spilled[0].stamp = 10;
  const Status refused = files.execute(job);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  ASSERT_TRUE(files.execute(Seal{}).ok());
  EXPECT_EQ(storage::text_of(path), "aabbbbccdd");
}

}  // namespace
}  // namespace weir::stager

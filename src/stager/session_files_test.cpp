#include "stager/session_files.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t block_bytes = 4;

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
  SessionFiles files(memory, block_bytes);
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

}  // namespace
}  // namespace weir::stager

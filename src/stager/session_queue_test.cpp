#include "stager/session_queue.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace weir::stager {
namespace {

constexpr WriteLimits limits{.bytes = 8, .described = 4, .read_back = 4};

NamedFile file(const std::string& encoded) {
  return std::make_shared<const transport::NameFile>(transport::NameFile{
      .file = 1, .path = "f", .bytes_when_made = 0, .known = std::nullopt, .encoded = encoded});
}

// Returns how many of these filled blocks, of two bytes each, are in the first job.
std::size_t in_first_job(const std::vector<NamedFile>& files, std::size_t extents = 1) {
  SessionQueue queue;
  for (const NamedFile& one : files) {
    const std::vector<transport::BlockExtent> all(extents, {.file = 0, .offset = 0, .bytes = 1});
    queue.push(
        BlockItem{.block = 0,
                  .bytes = 2,
                  .files = {one},
                  .extents = std::make_shared<const std::vector<transport::BlockExtent>>(all)});
  }
  const Write job = to_write(queue.begin_write(1, 1, limits));
  EXPECT_EQ(job.extents.size(), queue.in_job() * extents);
  return queue.in_job();
}

TEST(SessionQueue, WritesWhatFitsTogether) {
  const NamedFile plain = file("");
  const NamedFile encoded = file("map");
  EXPECT_EQ(in_first_job({plain, plain, plain}), 3U);
  EXPECT_EQ(in_first_job({plain, plain, plain, plain, plain}), 4U);
  EXPECT_EQ(in_first_job({encoded, encoded, encoded, encoded, encoded}), 4U);
  EXPECT_EQ(in_first_job({plain, encoded, plain, encoded, encoded}), 4U);
}

TEST(SessionQueue, WritesNoMoreTogetherThanItHasMemoryToDescribe) {
  const NamedFile encoded = file("map");
  const std::vector<NamedFile> files = {encoded, encoded, encoded, encoded};
  EXPECT_EQ(in_first_job(files, std::size_t{1} << 18), 4U);
  EXPECT_EQ(in_first_job(files, (std::size_t{1} << 18) + 1), 3U);
  EXPECT_EQ(in_first_job(files, std::size_t{1} << 20), 2U);
}

}  // namespace
}  // namespace weir::stager

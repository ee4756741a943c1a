#include "sections/file_space_allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::storage {
namespace {

TEST(FileSpaceAllocator, NoTwoChunksOverlapWhoeverTakesThem) {
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (std::int64_t own = 0; own < 3; ++own) {
    FileSpaceAllocator space(1000, 64, 3, own);
    for (std::int64_t bytes = 1; bytes <= 64; bytes += own + 1) {
      const auto place = space.take(bytes);
      ASSERT_TRUE(place.ok());
      EXPECT_GE(place.value(), 1000);
      taken.emplace_back(place.value(), place.value() + bytes);
    }
  }
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) EXPECT_LE(taken[i - 1].second, taken[i].first);
}

TEST(FileSpaceAllocator, RefusesWhatHasNoPlace) {
  EXPECT_FALSE(FileSpaceAllocator(0, 64, 2, -1).take(1).ok());
  EXPECT_FALSE(FileSpaceAllocator(0, 64, 2, 0).take(65).ok());
  EXPECT_FALSE(FileSpaceAllocator(INT64_MAX - 63, 64, 2, 0).take(1).ok());
}

}  // namespace
}  // namespace weir::storage

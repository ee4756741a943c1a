#include "plan/chunked_image.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "array/test_random.hpp"
#include "plan/units.hpp"

namespace weir::plan {
namespace {

using array::ChunkGrid;
using array::Indices;

TEST(ChunkedImage, SlotsAreApartAndFillTheFiles) {
  array::Random random(220);
  for (int round = 0; round < array::rounds(500); ++round) {
    const array::Shape shape = random.shape();
    Indices extents;
    for (int d = 0; d < shape.dimensions(); ++d) extents.push_back(random.between(1, 6));
    const std::int64_t alignment = random.between(1, 40);
    const std::int64_t offset = random.between(0, 99);
    const std::int64_t files = random.between(1, 7);
    std::optional<std::uint64_t> turn;
    if (random.chance(50)) turn = 0x9E3779B97F4A7C15U;
    const auto image =
        ChunkedImage::create(ChunkGrid::create(shape, extents).value(), array::ElementKind::int32,
                             array::Order::row_major, {offset, alignment, files, turn})
            .value();
    const std::int64_t slot = std::get<array::SlotsInTurn>(image.places()).slot_bytes;
    ASSERT_EQ(slot % alignment, 0);
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    std::vector<std::int64_t> in_file(static_cast<std::size_t>(image.files()));
    for (std::int64_t chunk = 0; chunk < image.grid().chunks(); ++chunk) {
      const auto place = image.place_of(chunk).value();
      ASSERT_TRUE(places.emplace(place.file, place.offset).second) << "round " << round;
      ASSERT_LT(place.file, image.files());
      ASSERT_EQ((place.offset - offset) % slot, 0);
      ASSERT_LE(image.grid().box(chunk).elements() * 4, slot);
      ++in_file[static_cast<std::size_t>(place.file)];
    }
    for (const std::int64_t slots : in_file) {
      ASSERT_GE(slots, image.grid().chunks() / files) << "round " << round;
      ASSERT_LE(slots, image.grid().chunks() / files + 1) << "round " << round;
    }
  }
}

TEST(ChunkedImage, RefusesWhatFilesCannotHold) {
  const auto grid = ChunkGrid::create(array::Shape::create({100}).value(), {10}).value();
  const auto make = [&](const ChunkPlacement& placement) {
    return ChunkedImage::create(grid, array::ElementKind::int8, array::Order::row_major, placement)
        .ok();
  };
  EXPECT_TRUE(make({}));
  EXPECT_FALSE(make({-1, 1, 1}));
  EXPECT_FALSE(make({0, 0, 1}));
  EXPECT_FALSE(make({0, 1, 0}));
  EXPECT_FALSE(make({0, std::int64_t{1} << 60, 1}));  // ten slots of 2^60 bytes
}

TEST(NextChunk, IsTheNextThatTheRegionMeets) {
  array::Random random(221);
  for (int round = 0; round < array::rounds(1000); ++round) {
    const array::Shape shape = random.shape();
    Indices extents;
    array::PerDimension<array::IndexBlocks> along;
    for (int d = 0; d < shape.dimensions(); ++d) {
      extents.push_back(random.between(1, 6));
      along.push_back(shape.extent(d) > 0 ? random.blocks(shape.extent(d)) : array::IndexBlocks());
    }
    const array::Region region(along);
    const auto grid = ChunkGrid::create(shape, extents).value();
    std::optional<std::int64_t> expected;
    for (std::int64_t from = grid.chunks(); from >= 0; --from) {
      if (from < grid.chunks() && !region.clipped(grid.box(from)).empty()) expected = from;
      ASSERT_EQ(next_chunk(grid, region, from), expected) << "round " << round << " from " << from;
    }
  }
}

}  // namespace
}  // namespace weir::plan

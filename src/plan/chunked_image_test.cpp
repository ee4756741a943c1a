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
  for (int round = 0; round < 500; ++round) {
    const array::Shape shape = random.shape();
    const bool per_rank = random.chance(40);
    const auto owners = random.regular(shape);
    Indices extents;
    for (int d = 0; d < shape.dimensions(); ++d) extents.push_back(random.between(1, 6));
    const std::int64_t alignment = random.between(1, 40);
    const std::int64_t offset = random.between(0, 99);
    const auto image = per_rank ? ChunkedImage::per_rank(owners, array::ElementKind::int32,
                                                         array::Order::row_major, offset, alignment)
                                      .value()
                                : ChunkedImage::create(
                                      ChunkGrid::create(shape, extents).value(),
                                      array::ElementKind::int32, array::Order::row_major,
                                      {offset, alignment, random.between(1, 7), random.chance(50)})
                                      .value();
    ASSERT_EQ(image.slot_bytes() % alignment, 0);
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    std::vector<std::int64_t> in_file(static_cast<std::size_t>(image.files()));
    for (std::int64_t chunk = 0; chunk < image.grid().chunks(); ++chunk) {
      const auto place = image.place_of(chunk);
      ASSERT_TRUE(places.emplace(place.file, place.offset).second) << "round " << round;
      ASSERT_LT(place.file, image.files());
      ASSERT_EQ((place.offset - offset) % image.slot_bytes(), 0);
      ASSERT_LT((place.offset - offset) / image.slot_bytes(), image.slots(place.file));
      ASSERT_LE(image.grid().box(chunk).elements() * 4, image.slot_bytes());
      ++in_file[static_cast<std::size_t>(place.file)];
      if (per_rank) {
        ASSERT_EQ(place.file, owners.owner(image.grid().box(chunk).lower));
      }
    }
    for (std::int64_t file = 0; file < image.files(); ++file) {
      ASSERT_EQ(in_file[static_cast<std::size_t>(file)], image.slots(file)) << "round " << round;
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
  for (int round = 0; round < 1000; ++round) {
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

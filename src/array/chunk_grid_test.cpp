#include "array/chunk_grid.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

TEST(ChunkGrid, ChunksAtTheUpperEdgesAreSmaller) {
  const auto grid = ChunkGrid::create(Shape::create({10, 7}).value(), {4, 3}).value();
  EXPECT_EQ(grid.counts(), (Indices{3, 3}));
  EXPECT_EQ(grid.chunks(), 9);
  EXPECT_EQ(grid.box(4), (Box{{4, 3}, {4, 3}}));
  EXPECT_EQ(grid.box(8), (Box{{8, 6}, {2, 1}}));
  EXPECT_EQ(grid.chunk_of({9, 5}), 7);
}

TEST(ChunkGrid, RefusesOtherDimensionsAndNoExtent) {
  const Shape shape = Shape::create({10, 7}).value();
  EXPECT_FALSE(ChunkGrid::create(shape, {4}).ok());
  EXPECT_FALSE(ChunkGrid::create(shape, {4, 0}).ok());
  EXPECT_EQ(ChunkGrid::create(shape, {99, 99}).value().chunks(), 1);
  EXPECT_EQ(ChunkGrid::create(Shape::create({10, 0}).value(), {4, 4}).value().chunks(), 0);
}

TEST(ChunkGrid, NaturalChunksAreTheBlocksOfTheDistribution) {
  const std::vector<DistributionFormat> formats = {DistributionFormat::block_of(),
                                                   DistributionFormat::whole_dimension(),
                                                   DistributionFormat::cyclic_of(5)};
  const auto distribution = RegularDistribution::create(Shape::create({10, 6, 20}).value(), formats,
                                                        {{4, 1, 2}, Order::row_major})
                                .value();
  const ChunkGrid grid = ChunkGrid::natural(distribution);
  EXPECT_EQ(grid.chunk_extents(), (Indices{3, 6, 5}));
  // Each block of each part is one chunk.
  std::set<std::int64_t> chunks;
  for (std::int64_t rank = 0; rank < distribution.ranks(); ++rank) {
    RegionBoxes boxes(distribution.part(rank));
    for (Box box; boxes.next(box);) {
      const std::int64_t chunk = grid.chunk_of(box.lower);
      EXPECT_EQ(grid.box(chunk), box);
      EXPECT_TRUE(chunks.insert(chunk).second);
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(chunks.size()), grid.chunks());
}

ChunkGrid random_grid(Random& random, const Shape& shape) {
  Indices extents;
  for (const std::int64_t extent : shape.extents()) {
    extents.push_back(random.between(1, extent + 2));
  }
  return ChunkGrid::create(shape, extents).value();
}

TEST(ChunkGrid, EveryElementIsInOneChunk) {
  Random random(100);
  for (int round = 0; round < rounds(1000); ++round) {
    const Shape shape = random.shape();
    const ChunkGrid grid = random_grid(random, shape);
    std::int64_t elements = 0;
    for (std::int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
      ASSERT_EQ(grid.number(grid.coordinates(chunk)), chunk);
      ASSERT_FALSE(grid.box(chunk).empty());
      elements += grid.box(chunk).elements();
    }
    ASSERT_EQ(elements, shape.elements());
    for (const Indices& index : all_elements(shape)) {
      ASSERT_TRUE(grid.box(grid.chunk_of(index)).contains(index)) << "round " << round;
    }
  }
}

TEST(ChunksMeeting, AreTheChunksOfTheElements) {
  Random random(101);
  for (int round = 0; round < rounds(3000); ++round) {
    const Shape shape = random.shape();
    const ChunkGrid grid = random_grid(random, shape);
    const RegularDistribution distribution = random.regular(shape);
    const Region region = random.chance(50)
                              ? distribution.part(random.between(0, distribution.ranks() - 1))
                              : Region(random.section(shape));
    std::set<std::int64_t> expected;
    for (const Indices& index : all_elements(shape)) {
      if (region.contains(index)) expected.insert(grid.chunk_of(index));
    }
    std::vector<std::int64_t> found;
    ChunksMeeting chunks(grid, region);
    for (std::int64_t chunk = 0; chunks.next(chunk);) found.push_back(chunk);
    ASSERT_EQ(found, std::vector<std::int64_t>(expected.begin(), expected.end()))
        << "round " << round;
  }
}

}  // namespace
}  // namespace weir::array

#include "stored/extent_map.hpp"

#include <gtest/gtest.h>

namespace weir::storage {
namespace {

array::ChunkGrid grid_of(const array::Indices& shape, const array::Indices& chunk) {
  return array::ChunkGrid::create(array::Shape::create(shape).value(), chunk).value();
}

TEST(ExtentMap, PaddedAndPackedChunksDifferAtEdges) {
  const auto grid = grid_of({5, 7}, {2, 4});
  ExtentMap map{.shape = grid.shape(),
                .type = array::ElementKind::int16,
                .files = DataFiles::one("x"),
                .extents = ChunkExtents{grid, array::Indices{2, 4}, SlotsInTurn{1, 100, 16}}};
  // Chunk 5 has one row of three elements.
  EXPECT_EQ(map.place_of({4, 6}), (ExtentPlace{0, 100 + 5 * 16 + 4}));
  EXPECT_EQ(map.place_of({3, 6}), (ExtentPlace{0, 100 + 3 * 16 + 2 * (4 + 2)}));
  map.extents = ChunkExtents{grid, std::nullopt, SlotsInTurn{1, 100, 16}};
  EXPECT_EQ(map.place_of({3, 6}), (ExtentPlace{0, 100 + 3 * 16 + 2 * (3 + 2)}));
  map.order = array::Order::column_major;
  EXPECT_EQ(map.place_of({3, 6}), (ExtentPlace{0, 100 + 3 * 16 + 2 * (2 * 2 + 1)}));
}

TEST(ExtentMap, RecordsAreDenseAtAStride) {
  const auto shape = array::Shape::create({3, 4, 5}).value();
  const ExtentMap map{.shape = shape,
                      .type = array::ElementKind::int32,
                      .files = DataFiles::one("x"),
                      .extents = RecordExtents{1000, 333}};
  EXPECT_EQ(map.place_of({2, 1, 3}), (ExtentPlace{0, 1000 + 2 * 333 + (5 + 3) * 4}));
}

TEST(ExtentMap, ShardsHoldSlotsForChunksBeyondTheEdge) {
  // 3 x 3 chunks, 2 x 2 of them in a shard: 2 x 2 shards.
  const auto grid = grid_of({6, 6}, {2, 2});
  const ExtentMap map{
      .shape = grid.shape(),
      .type = array::ElementKind::int8,
      .files = DataFiles::in_grid("a/c/", {2, 2}, '/'),
      .extents = ChunkExtents{grid, array::Indices{2, 2}, ShardSlots{{2, 2}, {2, 2}, 0, 4}}};
  EXPECT_EQ(map.place_of({5, 5}), (ExtentPlace{3, 3}));
  EXPECT_EQ(map.place_of({2, 5}), (ExtentPlace{1, 2 * 4 + 1}));
  EXPECT_EQ(map.files.path(1), "a/c/0/1");
  EXPECT_EQ(map.files.files(), 4);
}

// An array without elements has no chunk, and requests and errors name its files all the same.
TEST(ExtentMap, AGridWithoutFilesHasAName) {
  const DataFiles files = DataFiles::in_grid("a/c/", {3, 0}, '/');
  EXPECT_EQ(files.files(), 0);
  EXPECT_EQ(files.path(0), "a/c/");
}

}  // namespace
}  // namespace weir::storage

#include "plan/chunk_shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "array/chunk_grid.hpp"
#include "array/test_random.hpp"

namespace weir::plan {
namespace {

using array::Indices;
using array::Shape;

Indices chosen(const Shape& shape, const ChunkHints& hints, const PlatformRates& rates = {}) {
  return chunk_shape_for(shape, array::ElementKind::float64, hints, rates).value().extents;
}

std::int64_t bytes(const Indices& extents) {
  std::int64_t product = 8;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

TEST(ChunkShape, FollowsTheRequest) {
  const Shape shape = Shape::create({4096, 4096}).value();
  // Rows are asked for: chunks are wide; columns: tall; squares: square.
  const Indices rows = chosen(shape, {{1, 4096}});
  EXPECT_EQ(rows[0], 1);
  const Indices columns = chosen(shape, {{4096, 1}});
  EXPECT_EQ(columns[1], 1);
  const Indices squares = chosen(shape, {{512, 512}});
  EXPECT_EQ(squares[0], squares[1]);
}

TEST(ChunkShape, DearCallsMakeLargeChunks) {
  const Shape shape = Shape::create({4096, 4096}).value();
  PlatformRates disk;
  disk.write.call_seconds = 8e-3;
  disk.write.storage_bytes_per_second = 150e6;
  EXPECT_GT(bytes(chosen(shape, {{512, 512}}, disk)), 4 * bytes(chosen(shape, {{512, 512}})));
}

TEST(ChunkShape, StaysWithinBufferAndBlock) {
  array::Random random(260);
  for (int round = 0; round < array::rounds(500); ++round) {
    const Shape shape = random.shape();
    if (shape.elements() == 0) continue;
    ChunkHints hints;
    for (const std::int64_t extent : shape.extents()) {
      hints.typical_request.push_back(random.between(1, extent + 3));
    }
    hints.file_system_block_bytes = random.between(1, 512);
    hints.buffer_bytes = random.between(1024, 8192);
    PlatformRates rates;
    rates.write.call_seconds = 1e-6 * static_cast<double>(random.between(1, 100));
    const Indices extents = chosen(shape, hints, rates);
    ASSERT_TRUE(array::ChunkGrid::create(shape, extents).ok());
    ASSERT_LE(bytes(extents), hints.buffer_bytes) << round;
    // Not below a block, where two of the array's chunks fit into the buffer's limit at all.
    if (bytes(extents) < hints.file_system_block_bytes) {
      ASSERT_LE(bytes(shape.extents()), 2 * hints.file_system_block_bytes) << round;
    }
    for (int d = 0; d < shape.dimensions(); ++d) ASSERT_LE(extents[d], shape.extent(d));
  }
}

TEST(ChunkShape, GivesItsReason) {
  const auto shape = chunk_shape_for(Shape::create({1000, 1000}).value(),
                                     array::ElementKind::float64, {{100, 100}}, {})
                         .value();
  EXPECT_THAT(shape.reason, testing::HasSubstr("a request of 100 x 100 meets"));
  EXPECT_THAT(shape.reason, testing::HasSubstr("bytes per byte asked for"));
  EXPECT_THAT(shape.reason, testing::Not(testing::HasSubstr("\n")));
}

TEST(ChunkShape, RefusesHintsThatDoNotFit) {
  const Shape shape = Shape::create({10, 10}).value();
  const auto refused = [&](const ChunkHints& hints) {
    return !chunk_shape_for(shape, array::ElementKind::float64, hints, {}).ok();
  };
  EXPECT_TRUE(refused({{10}}));
  EXPECT_TRUE(refused({{0, 10}}));
  EXPECT_TRUE(refused({{10, 10}, 7}));
  EXPECT_TRUE(refused({{10, 10}, 4096, 0}));
}

}  // namespace
}  // namespace weir::plan

#include "array/suitable_chunks.hpp"

#include <gtest/gtest.h>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr Order rows = Order::row_major;

std::int64_t bytes_of(const Indices& chunk, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  for (const std::int64_t extent : chunk) bytes *= extent;
  return bytes;
}

TEST(SuitableChunks, AreTheArrayUpToTheWantedSizeAndPartsBeyond) {
  EXPECT_EQ(suitable_chunks({2, mib}, rows, 8), (Indices{2, mib}));
  EXPECT_EQ(suitable_chunks({3, mib}, rows, 8), (Indices{1, mib}));
  EXPECT_EQ(suitable_chunks({4, mib}, rows, 8), (Indices{2, mib}));
  EXPECT_EQ(suitable_chunks({16 * mib}, rows, 1), (Indices{16 * mib}));
  EXPECT_EQ(suitable_chunks({0, 5}, rows, 8), (Indices{1, 5}));
}

TEST(SuitableChunks, HaveWholeRowsAndEqualParts) {
  EXPECT_EQ(suitable_chunks({256, 256, 256}, rows, 8), (Indices{32, 256, 256}));
  EXPECT_EQ(suitable_chunks({256, 256, 256}, Order::column_major, 8), (Indices{256, 256, 32}));
  EXPECT_EQ(suitable_chunks({1, 256, 256, 256}, rows, 8), (Indices{1, 32, 256, 256}));
  EXPECT_EQ(suitable_chunks({1000, 1000, 1000}, rows, 8), (Indices{2, 1000, 1000}));
  // A prime has no equal parts.
  EXPECT_EQ(suitable_chunks({257, 256, 256}, rows, 8), (Indices{29, 256, 256}));
  // A row is too long.
  EXPECT_EQ(suitable_chunks({4, 64 * mib}, rows, 1), (Indices{1, 16 * mib}));
}

TEST(SuitableChunks, ABlockIsAWholeNumberOfChunks) {
  // 64 MiB, of which a quarter is a chunk.
  EXPECT_EQ(suitable_chunks({256, 256, 256}, rows, 8, Indices{128, 256, 256}),
            (Indices{32, 256, 256}));
  EXPECT_EQ(suitable_chunks({512, 512, 512}, rows, 8, Indices{256, 256, 256}),
            (Indices{32, 256, 256}));
  // One of 7 planes of 8 MiB fits; two would fit too, but 2 does not divide 7.
  EXPECT_EQ(suitable_chunks({14, mib}, rows, 8, Indices{7, mib}), (Indices{1, mib}));
  // 31 planes of 512 KiB are within the limit, and have no divisor.
  EXPECT_EQ(suitable_chunks({62, mib}, rows, 1, Indices{31, mib}), (Indices{31, mib}));
}

TEST(SuitableChunks, AChunkIsAWholeNumberOfSmallBlocks) {
  // 1 MiB each, 8 along the rows.
  EXPECT_EQ(suitable_chunks({64, 64, 1 * mib}, rows, 1, Indices{4, 2, mib / 8}),
            (Indices{4, 4, mib}));
  EXPECT_EQ(suitable_chunks({1024, mib}, rows, 1, Indices{1, mib}), (Indices{16, mib}));
}

TEST(SuitableChunks, AreWithinTheLimitsWhateverTheArray) {
  Random random(14);
  for (int turn = 0; turn < 2000; ++turn) {
    Indices extents;
    Indices block;
    const auto dimensions = random.between(1, 4);
    for (std::int64_t d = 0; d < dimensions; ++d) {
      extents.push_back(random.between(1, 3000));
      block.push_back(random.between(1, extents[static_cast<int>(d)]));
    }
    const std::int64_t element = random.between(1, 16);
    const auto order = turn % 2 == 0 ? rows : Order::column_major;
    for (const auto& chunk : {suitable_chunks(extents, order, element),
                              suitable_chunks(extents, order, element, block)}) {
      EXPECT_LE(bytes_of(chunk, element), most_chosen_chunk_bytes);
      for (int d = 0; d < chunk.size(); ++d) {
        EXPECT_GE(chunk[d], 1);
        EXPECT_LE(chunk[d], extents[d]);
      }
    }
    // Not cut into crumbs: what is cut along one dimension is at least a quarter of what it may be.
    if (bytes_of(extents, element) > wanted_chunk_bytes) {
      EXPECT_GE(bytes_of(suitable_chunks(extents, order, element), element),
                wanted_chunk_bytes / 4);
    }
  }
}

}  // namespace
}  // namespace weir::array

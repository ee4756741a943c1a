#include "array/declustering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace weir::array {
namespace {

TEST(Declustering, GivesEachHolderOneOfEachGroup) {
  for (std::int64_t holders = 1; holders <= 40; ++holders) {
    const Declustering declustering(holders);
    for (std::int64_t group = 0; group < 50; ++group) {
      std::set<std::int64_t> seen;
      for (std::int64_t n = group * holders; n < (group + 1) * holders; ++n) {
        const std::int64_t holder = declustering.holder(n);
        ASSERT_TRUE(seen.insert(holder).second);
        ASSERT_LT(holder, holders);
        ASSERT_EQ(declustering.number(holder, group), n);
      }
    }
  }
}

TEST(Declustering, WithoutATurnIsTheRemainder) {
  const auto declustering = Declustering::turning(4, 0);
  for (std::int64_t n = 0; n < 100; ++n) EXPECT_EQ(declustering.holder(n), n % 4);
}

// The most that any holder has of a box of chunks.
std::int64_t most_of(const Declustering& declustering, const ChunkGrid& grid, const Box& box) {
  std::vector<std::int64_t> has(static_cast<std::size_t>(declustering.holders()));
  for (std::int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
    if (box.contains(grid.coordinates(chunk))) {
      ++has[static_cast<std::size_t>(declustering.holder(chunk))];
    }
  }
  return *std::max_element(has.begin(), has.end());
}

// A column of a grid of chunks is a line at a stride of the row's length. In turn, a stride that
// the holders' number divides would leave all of it with one of them.
TEST(Declustering, SpreadsLinesAlongEveryDimension) {
  const std::vector<Indices> grids = {{10, 10}, {50, 50},     {64, 64},  {100, 7},  {128, 4},
                                      {12, 36}, {16, 16, 16}, {4, 4, 4}, {9, 8, 7}, {6, 5, 4, 3}};
  for (const Indices& counts : grids) {
    const auto shape = Shape::create(counts).value();
    const auto grid = ChunkGrid::create(shape, Indices(shape.dimensions(), 1)).value();
    for (const std::int64_t holders : {2, 3, 4, 5, 6, 8, 12, 16}) {
      const auto declustering = Declustering::for_grid(grid, 1, holders);
      for (int d = 0; d < shape.dimensions(); ++d) {
        for (const std::int64_t third : {0, 1, 2}) {
          Box line{Indices(shape.dimensions()), Indices(shape.dimensions(), 1)};
          for (int other = 0; other < shape.dimensions(); ++other) {
            line.lower[other] = other == d ? 0 : counts[other] * third / 3;
          }
          line.extent[d] = counts[d];
          const std::int64_t even = (counts[d] + holders - 1) / holders;
          EXPECT_LE(most_of(declustering, grid, line), 2 * even + 1)
              << shape.text() << " along " << d << ", " << holders << " holders";
        }
      }
    }
  }
}

// Half of the columns or rows of natural chunks, which in turn would be with half of the holders.
TEST(Declustering, SpreadsHalvesOfSmallGrids) {
  struct Case {
    Indices counts;
    std::int64_t holders = 0;
  };
  for (const Case& one : {Case{{4, 4}, 4}, Case{{4, 8}, 4}, Case{{8, 4}, 4}, Case{{16, 16}, 16}}) {
    const auto grid = ChunkGrid::create(Shape::create(one.counts).value(), Indices(2, 1)).value();
    const auto declustering = Declustering::for_grid(grid, 1, one.holders);
    for (const int d : {0, 1}) {
      Box half{Indices(2), one.counts};
      half.lower[d] = one.counts[d] / 4;
      half.extent[d] = one.counts[d] / 2;
      EXPECT_EQ(most_of(declustering, grid, half) * one.holders, half.elements())
          << one.counts[0] << " x " << one.counts[1] << ", dimension " << d;
    }
  }
}

}  // namespace
}  // namespace weir::array

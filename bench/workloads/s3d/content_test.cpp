#include "workloads/s3d/content.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weir::bench::s3d {
namespace {

constexpr array::Indices cells{7, 5, 3};

Options of_domain() {
  Options options;
  options.nx = cells[0];
  options.ny = cells[1];
  options.nz = cells[2];
  options.strong = true;
  options.grid = array::Indices{3, 2, 1};
  options.species = 2;
  options.steps = 4;
  return options;
}

Decomposition decomposed(const Options& options, std::int64_t ranks) {
  return decomposition_of(options, ranks, {}).value();
}

// Returns how many ranks have each cell, x fastest.
std::vector<int> owners(const array::Indices& extents, const array::Indices& grid,
                        std::int64_t ranks) {
  std::vector<int> owners(static_cast<std::size_t>(extents[0] * extents[1] * extents[2]), 0);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const array::Box box = box_of(extents, grid, rank);
    for (std::int64_t z = box.lower[2]; z < box.upper(2); ++z) {
      for (std::int64_t y = box.lower[1]; y < box.upper(1); ++y) {
        for (std::int64_t x = box.lower[0]; x < box.upper(0); ++x) {
          ++owners[static_cast<std::size_t>((z * extents[1] + y) * extents[0] + x)];
        }
      }
    }
  }
  return owners;
}

TEST(BoxOf, EachCellHasOneRank) {
  for (const array::Indices& grid :
       {array::Indices{1, 1, 1}, {3, 2, 1}, {2, 2, 2}, {7, 1, 4}, {1, 6, 1}}) {
    const std::int64_t processes = grid[0] * grid[1] * grid[2];
    const std::vector<int> found = owners(cells, grid, processes + 2);
    EXPECT_TRUE(std::ranges::all_of(found, [](int count) { return count == 1; }));
  }
}

TEST(BoxOf, RanksAreCountedAlongXFirstAndTheFirstOnesHaveMore) {
  EXPECT_EQ(box_of(cells, {3, 2, 1}, 0), (array::Box{{0, 0, 0}, {3, 3, 3}}));
  EXPECT_EQ(box_of(cells, {3, 2, 1}, 1), (array::Box{{3, 0, 0}, {2, 3, 3}}));
  EXPECT_EQ(box_of(cells, {3, 2, 1}, 5), (array::Box{{5, 3, 0}, {2, 2, 3}}));
  EXPECT_TRUE(box_of(cells, {3, 2, 1}, 6).empty());
}

TEST(Decomposition, TheDomainGrowsWithTheRanksUnlessScalingIsStrong) {
  Options weak;
  weak.nx = 22;
  weak.ny = 36;
  weak.nz = 22;
  weak.species = 11;
  const Decomposition made = decomposed(weak, 8);
  EXPECT_EQ(made.writing, (array::Indices{2, 2, 2}));
  EXPECT_EQ(made.reading, (array::Indices{2, 2, 1}));
  EXPECT_EQ(made.cells, (array::Indices{44, 72, 44}));
  EXPECT_EQ(decomposed(of_domain(), 6).cells, cells);
}

TEST(Content, ArraysHaveFortransExtentsReversed) {
  const Options options = of_domain();
  const S3dContent content(options, decomposed(options, 6));
  const auto arrays = content.arrays({}, 5);
  ASSERT_EQ(arrays.size(), 4U);
  EXPECT_EQ(arrays[0].box.name, "yspecies");
  EXPECT_EQ(arrays[0].box.extents, (array::Indices{2, 3, 5, 7}));
  EXPECT_EQ(arrays[0].box.box, (array::Box{{0, 0, 3, 5}, {2, 3, 2, 2}}));
  EXPECT_EQ(arrays[2].box.extents, (array::Indices{3, 5, 7}));
  EXPECT_EQ(arrays[3].box.extents, (array::Indices{3, 3, 5, 7}));
  EXPECT_EQ(output::bytes_of_file(content, 0, false), 7 * 5 * 3 * 8 * doubles_of_cell(2));
}

TEST(Content, OtherRanksReadBackThanWrote) {
  const Options options = of_domain();
  const S3dContent content(options, decomposed(options, 6));
  ASSERT_TRUE(content.redivides());
  const output::Form reading{.direction = Direction::read};
  EXPECT_EQ(content.arrays(reading, 0)[2].box.box, (array::Box{{0, 0, 0}, {3, 5, 3}}));
  EXPECT_TRUE(content.arrays(reading, 3)[2].box.box.empty());
  EXPECT_NE(content.arrays(reading, 0)[2].box.division, content.arrays({}, 0)[2].box.division);
}

}  // namespace
}  // namespace weir::bench::s3d

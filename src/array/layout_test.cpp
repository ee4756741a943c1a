#include "array/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "array/odometer.hpp"
#include "array/test_extents.hpp"
#include "array/test_random.hpp"

namespace weir::array {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(Layout, PacksInEitherOrder) {
  const Layout rows = Layout::packed({3, 4, 5}, 8, Order::row_major).value();
  EXPECT_EQ(rows.offset_of({1, 2, 3}), 8 * (1 * 20 + 2 * 5 + 3));
  const Layout columns = Layout::packed({3, 4, 5}, 8, Order::column_major, 100).value();
  EXPECT_EQ(columns.offset_of({1, 2, 3}), 100 + 8 * (1 + 2 * 3 + 3 * 12));
  EXPECT_EQ(columns.bounds().lower, 100);
  EXPECT_EQ(columns.bounds().upper, 100 + 480);
}

TEST(Layout, GhostCellsSurroundTheFirstElement) {
  const GhostCells ghosts{{1, 2}, {3, 0}};
  const Layout rows = Layout::with_ghosts({4, 5}, 2, Order::row_major, ghosts).value();
  // 8 rows of 7 elements; the first element that is none lies in row 1, column 2.
  EXPECT_EQ(rows.offset_of({0, 0}), 2 * (1 * 7 + 2));
  EXPECT_EQ(rows.stride(0), 14);
  EXPECT_EQ(rows.offset_of({3, 4}), 2 * (4 * 7 + 6));
  EXPECT_EQ(rows.bounds().upper, 2 * (4 * 7 + 6) + 2);
  const Layout columns = Layout::with_ghosts({4, 5}, 2, Order::column_major, ghosts).value();
  EXPECT_EQ(columns.offset_of({0, 0}), 2 * (1 + 2 * 8));
}

TEST(Layout, NegativeStridesReachBelowTheOffset) {
  const Layout reversed = Layout::strided({10}, 4, Numbers{-8}, 100).value();
  EXPECT_EQ(reversed.bounds().lower, 100 - 72);
  EXPECT_EQ(reversed.bounds().upper, 104);
  const Layout empty = Layout::strided({10, 0}, 4, Numbers{-8, 4}, 100).value();
  EXPECT_EQ(empty.bounds().lower, 100);
  EXPECT_EQ(empty.bounds().upper, 100);
}

TEST(Layout, ElementsAreApartOrShareBytes) {
  const auto apart = [](const Indices& extents, const Numbers& strides) {
    return Layout::strided(extents, 8, strides).value().elements_are_apart();
  };
  EXPECT_TRUE(apart({3, 4}, {32, 8}));
  EXPECT_TRUE(apart({3, 4}, {8, 24}));
  EXPECT_TRUE(apart({3, 4}, {-32, 8}));
  EXPECT_FALSE(apart({3, 4}, {24, 8}));
  EXPECT_FALSE(apart({3, 4}, {0, 8}));
  EXPECT_FALSE(apart({4}, {4}));
  EXPECT_TRUE(apart({1, 4}, {0, 8}));
}

TEST(Layout, RefusesWhatDoesNotFitIntoSixtyThreeBits) {
  EXPECT_TRUE(Layout::packed({tebi, 1 << 20}, 4, Order::row_major).ok());
  EXPECT_FALSE(Layout::packed({tebi, 1 << 20}, 8, Order::row_major).ok());
  EXPECT_FALSE(
      Layout::packed({tebi}, 8, Order::row_major, std::numeric_limits<std::int64_t>::max()).ok());
  EXPECT_FALSE(Layout::with_ghosts({4}, 8, Order::row_major, {{std::int64_t{1} << 61}, {0}}).ok());
  EXPECT_FALSE(Layout::with_ghosts({4}, 8, Order::row_major, {{-1}, {0}}).ok());
  EXPECT_FALSE(Layout::with_ghosts({4}, 8, Order::row_major, {{1, 1}, {0}}).ok());
  EXPECT_FALSE(Layout::strided({tebi, 4}, 8, Numbers{tebi, 8}).ok());
  EXPECT_FALSE(Layout::strided({4, 4}, 8, Numbers{8}).ok());
  // Either end fits, the distance between them does not.
  const std::int64_t half = std::int64_t{1} << 62;
  EXPECT_FALSE(Layout::strided({2, 3}, 8, Numbers{half, -half}).ok());
}

TEST(Layout, ElementsSaidToBeApartAre) {
  Random random(70);
  int apart = 0;
  for (int round = 0; round < rounds(2000); ++round) {
    Indices extents;
    Numbers strides;
    for (std::int64_t d = random.between(1, 4); d > 0; --d) {
      extents.push_back(random.between(1, 4));
      strides.push_back(random.between(-40, 40));
    }
    const Layout layout = Layout::strided(extents, 2, strides, 1000).value();
    std::set<std::int64_t> bytes;
    std::size_t elements = 0;
    for (Odometer<> place(extents); place.valid(); place.advance(), ++elements) {
      const std::int64_t at = layout.offset_of(place.digits());
      bytes.insert({at, at + 1});
    }
    ASSERT_EQ(layout.bounds().lower, *bytes.begin()) << "round " << round;
    ASSERT_EQ(layout.bounds().upper, *bytes.rbegin() + 1) << "round " << round;
    if (!layout.elements_are_apart()) continue;
    ++apart;
    ASSERT_EQ(bytes.size(), 2 * elements) << "round " << round;
  }
  EXPECT_GT(apart, 100);
}

}  // namespace
}  // namespace weir::array

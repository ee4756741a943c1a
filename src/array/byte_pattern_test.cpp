#include "array/byte_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "array/byte_grid.hpp"
#include "array/linear_range.hpp"
#include "array/test_random.hpp"

namespace weir::array {
namespace {

using Offsets = std::vector<std::int64_t>;
constexpr std::size_t most = 1000;  // patterns
using Cut = ByteView::Cut;

void add_offsets(const BytePattern& pattern, Offsets& offsets) {
  if (pattern.is_block()) {
    for (std::int64_t i = 0; i < pattern.bytes(); ++i) offsets.push_back(pattern.offset() + i);
    return;
  }
  for (std::int64_t i = 0; i < pattern.levels()[0].count; ++i) {
    add_offsets(pattern.inner().shifted(i * pattern.levels()[0].stride).value(), offsets);
  }
}

Offsets offsets_of(const BytePattern& pattern) {
  Offsets offsets;
  add_offsets(pattern, offsets);
  return offsets;
}

Offsets part(const Offsets& all, std::int64_t first, std::int64_t count) {
  return {all.begin() + first, all.begin() + first + count};
}

BytePattern random_pattern(Random& random) {
  BytePattern pattern(random.between(0, 20), random.between(1, 6));
  for (std::int64_t level = random.between(0, 3); level > 0; --level) {
    const std::int64_t span = pattern.end() - pattern.offset();
    pattern = pattern.repeated(random.between(1, 4), span + random.between(0, 3)).value();
  }
  return pattern;
}

TEST(BytePattern, HasTheBytesOfItsRepetitions) {
  Random random(301);
  for (int round = 0; round < rounds(3000); ++round) {
    const BytePattern one = random_pattern(random);
    const std::int64_t count = random.between(1, 4);
    const std::int64_t stride = one.end() - one.offset() + random.between(0, 5);
    Offsets expected;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const std::int64_t offset : offsets_of(one)) expected.push_back(offset + i * stride);
    }
    const BytePattern all = one.repeated(count, stride).value();
    ASSERT_EQ(offsets_of(all), expected) << "round " << round;
    ASSERT_EQ(all.bytes(), std::ssize(expected));
    ASSERT_EQ(all.end(), expected.back() + 1);
  }
}

TEST(BytePattern, JoinsWhatFollowsWithoutAGap) {
  const BytePattern row = BytePattern(8, 4).repeated(3, 4).value();
  EXPECT_EQ(row, BytePattern(8, 12));
  const BytePattern column = BytePattern(0, 4).repeated(2, 10).value();
  EXPECT_EQ(column.repeated(3, 20).value(), BytePattern(0, 4).repeated(6, 10).value());
}

TEST(BytePattern, DoesNotGoBackOrInterleave) {
  const BytePattern column = BytePattern(0, 4).repeated(2, 10).value();
  EXPECT_FALSE(column.repeated(2, 13).has_value());
  EXPECT_FALSE(BytePattern(0, 4).repeated(2, -4).has_value());
  EXPECT_FALSE(BytePattern(0, 4).repeated(2, 0).has_value());
}

TEST(BytePattern, RefusesOffsetsThatDoNotFit) {
  const std::int64_t large = std::int64_t{1} << 62;
  EXPECT_FALSE(BytePattern(1, 1).shifted(large).has_value());
  EXPECT_FALSE(BytePattern(0, 1).repeated(large, 4).has_value());
  EXPECT_FALSE(BytePattern(0, 8).repeated(large / 8 + 1, 8).has_value());
  EXPECT_TRUE(BytePattern(0, 8).repeated(large / 8, 8).has_value());
  BytePattern nested(0, 1);
  for (int level = 0; level < BytePattern::most_levels; ++level) {
    nested = nested.repeated(2, 2 * (nested.end() + 1)).value();
  }
  EXPECT_FALSE(nested.repeated(2, 2 * (nested.end() + 1)).has_value());
}

TEST(BytePattern, IsCutIntoTheBytesOfARange) {
  Random random(302);
  for (int round = 0; round < rounds(3000); ++round) {
    const BytePattern whole = random_pattern(random);
    const std::int64_t first = random.between(0, whole.bytes());
    const std::int64_t bytes = random.between(0, whole.bytes() - first);
    std::vector<BytePattern> found;
    whole.cut(first, bytes, found);
    Offsets offsets;
    for (const BytePattern& one : found) add_offsets(one, offsets);
    ASSERT_EQ(offsets, part(offsets_of(whole), first, bytes)) << "round " << round;
    ASSERT_LE(std::ssize(found), 2 * whole.levels().size() + 1);
  }
}

TEST(BytePattern, CountsItsBytesBelowALimit) {
  Random random(306);
  for (int round = 0; round < rounds(3000); ++round) {
    const BytePattern pattern = random_pattern(random);
    const Offsets offsets = offsets_of(pattern);
    const std::int64_t limit = random.between(pattern.offset() - 2, pattern.end() + 2);
    ASSERT_EQ(pattern.bytes_below(limit),
              std::ranges::lower_bound(offsets, limit) - offsets.begin())
        << "round " << round;
  }
  EXPECT_EQ(BytePattern().bytes_below(5), 0);
}

TEST(PatternSeries, IsOnePatternWhereBlocksAreEquallyApart) {
  PatternSeries blocks;
  EXPECT_EQ(blocks.all(), BytePattern());
  for (const std::int64_t offset : {3, 5, 23, 25, 43, 45}) blocks.add(BytePattern(offset, 2));
  EXPECT_EQ(blocks.all(), BytePattern(3, 4).repeated(3, 20));
  blocks.add(BytePattern());
  EXPECT_EQ(blocks.all(), BytePattern(3, 4).repeated(3, 20));
}

// The offsets of patterns, one after the other.
Offsets offsets_of(const PatternList& list) {
  Offsets offsets;
  for (const BytePattern& pattern : list.patterns()) add_offsets(pattern, offsets);
  return offsets;
}

TEST(PatternSeries, IsSeveralPatternsWhereBlocksAreUnequallyApart) {
  PatternSeries blocks;
  for (const std::int64_t offset : {0, 10, 21, 31, 41}) blocks.add(BytePattern(offset, 2));
  blocks.add(BytePattern(51, 5));
  const PatternList all = blocks.all().value();
  EXPECT_EQ(offsets_of(all), (Offsets{0, 1, 10, 11, 21, 22, 31, 32, 41, 42, 51, 52, 53, 54, 55}));
  EXPECT_EQ(all.patterns().size(), 3U);
  EXPECT_EQ(all.bytes(), 15);
  EXPECT_EQ(all.end(), 56);
}

TEST(PatternSeries, IsNoneOfWhatDoesNotAscendAndOfTooManyPatterns) {
  PatternSeries with_none;
  with_none.add(std::nullopt);
  with_none.add(BytePattern(0, 2));
  EXPECT_FALSE(with_none.all().has_value());
  PatternSeries descending;
  for (const std::int64_t offset : {10, 20, 19}) descending.add(BytePattern(offset, 2));
  EXPECT_FALSE(descending.all().has_value());
  PatternSeries overlapping;
  for (const std::int64_t offset : {10, 11}) overlapping.add(BytePattern(offset, 2));
  EXPECT_FALSE(overlapping.all().has_value());
  PatternSeries many;
  for (std::int64_t i = 0; i <= std::int64_t{PatternList::most_patterns}; ++i) {
    many.add(BytePattern(i * 10, 1 + i % 2));
    if (i + 2 >= std::int64_t{PatternList::most_patterns}) {
      EXPECT_EQ(many.all().has_value(), i < std::int64_t{PatternList::most_patterns});
    }
  }
}

PatternList random_list(Random& random) {
  PatternList list;
  for (std::int64_t left = random.between(1, 4); left > 0; --left) {
    const BytePattern pattern = random_pattern(random);
    const std::int64_t begin = list.empty() ? 0 : list.end() + random.between(0, 3);
    EXPECT_TRUE(list.add(pattern.shifted(begin - pattern.offset()).value()));
  }
  return list;
}

TEST(PatternList, HasTheBytesOfItsRepetitions) {
  Random random(305);
  int found = 0;
  for (int round = 0; round < rounds(3000); ++round) {
    const PatternList one = random_list(random);
    const std::int64_t count = random.between(1, 4);
    const std::int64_t stride = one.end() - one.offset() + random.between(-1, 5);
    const auto all = one.repeated(count, stride);
    if (!all) continue;
    ++found;
    Offsets expected;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const std::int64_t offset : offsets_of(one)) expected.push_back(offset + i * stride);
    }
    ASSERT_EQ(offsets_of(*all), expected) << "round " << round;
    ASSERT_TRUE(count == 1 || stride >= one.end() - one.offset());
  }
  EXPECT_GT(found, rounds(3000) / 2);
}

TEST(ByteView, ShowsTheBytesOfItsTiles) {
  Random random(303);
  for (int round = 0; round < rounds(3000); ++round) {
    const PatternList tile = random_list(random);
    const std::int64_t extent = tile.end() - tile.offset() + random.between(0, 6);
    const std::int64_t displacement = random.between(0, 100);
    Offsets all;
    for (std::int64_t i = 0; i < 4; ++i) {
      for (const std::int64_t offset : offsets_of(tile)) {
        all.push_back(displacement + i * extent + offset);
      }
    }
    const auto view = ByteView::create(displacement, tile, extent);
    ASSERT_TRUE(view.has_value());
    const std::int64_t first = random.between(0, std::ssize(all));
    const std::int64_t bytes = random.between(0, std::ssize(all) - first);
    std::vector<BytePattern> found;
    ASSERT_EQ(view->cut(first, bytes, most, found), Cut::done);
    Offsets offsets;
    for (const BytePattern& one : found) add_offsets(one, offsets);
    ASSERT_EQ(offsets, part(all, first, bytes)) << "round " << round;
  }
}

TEST(ByteView, OfContiguousTilesIsOneBlock) {
  std::vector<BytePattern> found;
  ASSERT_EQ(ByteView::create(100, BytePattern(0, 8), 8)->cut(5, 1000, most, found), Cut::done);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front(), BytePattern(105, 1000));
}

TEST(ByteView, FindsBytesOfOneBlockAsTheyAreCut) {
  Random random(311);
  std::int64_t found_blocks = 0;
  for (int round = 0; round < rounds(3000); ++round) {
    const PatternList tile = random_list(random);
    const std::int64_t extent = tile.end() - tile.offset() + random.between(-2, 6);
    const auto view = ByteView::create(random.between(50, 100), tile, extent);
    if (!view) continue;
    const std::int64_t first = random.between(0, 3 * tile.bytes());
    const std::int64_t bytes = random.between(1, 6);
    std::vector<BytePattern> found;
    const bool is_cut = view->cut(first, bytes, most, found) == Cut::done;
    const auto block = view->block_at(first, bytes);
    if (!block) continue;
    ++found_blocks;
    ASSERT_TRUE(is_cut);
    ASSERT_EQ(found, (std::vector{BytePattern(*block, bytes)})) << "round " << round;
  }
  EXPECT_GT(found_blocks, 0);
}
TEST(ByteView, FindsNoBlockWhereThereIsNone) {
  const BytePattern column = BytePattern(0, 4).repeated(2, 10).value();
  const auto view = ByteView::create(100, column, 20);
  EXPECT_EQ(view->block_at(4, 4), 110);
  EXPECT_EQ(view->block_at(9, 3), 121);
  EXPECT_EQ(view->block_at(9, 4), std::nullopt);
  EXPECT_EQ(view->block_at(0, 0), std::nullopt);
  EXPECT_EQ(view->block_at(-1, 1), std::nullopt);
  constexpr std::int64_t last = std::int64_t{1} << 62;
  EXPECT_EQ(ByteView().block_at(last - 8, 8), last - 8);
  EXPECT_EQ(ByteView().block_at(last - 8, 9), std::nullopt);
  const auto empty = ByteView::create(0, PatternList(), 0);
  EXPECT_EQ(empty->block_at(0, 0), std::nullopt);
  EXPECT_EQ(empty->block_at(0, 1), std::nullopt);
}
TEST(ByteView, KnowsWhetherAllBytesFollowEachOther) {
  EXPECT_EQ(ByteView().dense_offset(), 0);
  EXPECT_EQ(ByteView::create(100, BytePattern(4, 8), 8)->dense_offset(), 104);
  const BytePattern joined = BytePattern(0, 4).repeated(2, 4).value();
  EXPECT_EQ(ByteView::create(100, joined, 8)->dense_offset(), 100);
  EXPECT_EQ(ByteView::create(100, BytePattern(0, 8), 9)->dense_offset(), std::nullopt);
  EXPECT_EQ(ByteView::create(100, BytePattern(0, 8), 7)->dense_offset(), std::nullopt);
  EXPECT_EQ(ByteView::create(100, PatternList(), 0)->dense_offset(), std::nullopt);
}
TEST(ByteView, KnowsItsRowsAndHowFarTheyReach) {
  // Blocks of 8 bytes at 16 in tiles of 100 bytes: 3 rows a tile.
  const BytePattern three = BytePattern(0, 8).repeated(3, 16).value();
  const ByteSpread tiles = ByteView::create(5, three, 100).value().spread();
  EXPECT_TRUE(tiles.has_holes());
  EXPECT_EQ(tiles.rows_of(24), 3);
  EXPECT_EQ(tiles.span_of(24), 40);
  EXPECT_EQ(tiles.rows_of(4 * 24), 4 * 3);
  EXPECT_EQ(tiles.span_of(4 * 24), 340);
  EXPECT_EQ(tiles.rows_of(0), 0);
  EXPECT_EQ(tiles.rows_of(1), 1);  // a part of a row
  const ByteSpread dense = ByteView::create(5, BytePattern(0, 8), 8).value().spread();
  EXPECT_FALSE(dense.has_holes());
  EXPECT_EQ(dense.rows_of(1000), 1);
  EXPECT_EQ(dense.span_of(1000), 1000);
  EXPECT_FALSE(ByteView().spread().has_holes());
}

TEST(ByteView, RefusesToBeCutIntoTooManyPatterns) {
  PatternList tile = BytePattern(0, 1);
  ASSERT_TRUE(tile.add(BytePattern(10, 2)));
  const auto view = ByteView::create(0, tile, 20);
  std::vector<BytePattern> found;
  EXPECT_EQ(view->cut(0, 6, 4, found), Cut::done);
  found.clear();
  EXPECT_EQ(view->cut(0, 7, 4, found), Cut::irregular);
  EXPECT_EQ(found.size(), 5U);
}

TEST(ByteView, IsCutWithinATileWhereTilesOverlap) {
  const BytePattern column = BytePattern(0, 4).repeated(2, 10).value();
  const auto view = ByteView::create(100, column, 13);
  std::vector<BytePattern> found;
  ASSERT_EQ(view->cut(10, 6, most, found), Cut::done);
  EXPECT_EQ(found, (std::vector{BytePattern(115, 2), BytePattern(123, 4)}));
  EXPECT_EQ(view->cut(10, 7, most, found), Cut::irregular);
  EXPECT_EQ(ByteView::create(0, column, -13)->cut(8, 8, most, found), Cut::impossible);
}

TEST(ByteView, IsCutInPartsWhateverItsTilesAre) {
  Random random(307);
  for (int round = 0; round < rounds(3000); ++round) {
    const PatternList tile = random_list(random);
    const std::int64_t extent = tile.end() - tile.offset() + random.between(-6, 6);
    const auto view = ByteView::create(200, tile, extent);
    if (!view) continue;
    Offsets all;
    for (std::int64_t i = 0; i < 4; ++i) {
      for (const std::int64_t offset : offsets_of(tile)) all.push_back(200 + i * extent + offset);
    }
    if (*std::ranges::min_element(all) < 0) continue;
    const std::int64_t first = random.between(0, std::ssize(all));
    const std::int64_t bytes = random.between(0, std::ssize(all) - first);
    Offsets offsets;
    for (std::int64_t done = 0; done < bytes;) {
      const std::int64_t together = view->cut_together(first + done, bytes - done);
      std::vector<BytePattern> found;
      ASSERT_EQ(view->cut(first + done, together, most, found), Cut::done);
      for (const BytePattern& one : found) add_offsets(one, offsets);
      done += together;
    }
    ASSERT_EQ(offsets, part(all, first, bytes)) << "round " << round;
  }
}

TEST(ByteView, RefusesWhatNoViewShows) {
  EXPECT_FALSE(ByteView::create(3, BytePattern(-4, 2), 8).has_value());
  std::vector<BytePattern> found;
  const auto nothing = ByteView::create(0, BytePattern(), 8);
  EXPECT_EQ(nothing->cut(7, 0, most, found), Cut::done);
  EXPECT_EQ(nothing->cut(0, 1, most, found), Cut::impossible);
  EXPECT_EQ(ByteView().cut(std::int64_t{1} << 62, 8, most, found), Cut::impossible);
  EXPECT_TRUE(found.empty());
}

// The offsets of a box of a grid, in the order of the array.
Offsets offsets_of(const ByteGrid& grid, const Box& box) {
  Offsets offsets;
  if (box.empty()) return offsets;
  const Shape inside = Shape::create(box.extent).value();
  for (std::int64_t number = 0; number < box.elements(); ++number) {
    Indices index = index_of_number(inside, Order::row_major, number);
    for (int d = 0; d < index.size(); ++d) index[d] += box.lower[d];
    offsets.push_back(grid.offset + linear_number(grid.shape, Order::row_major, index));
  }
  return offsets;
}

void expect_same(const ByteGrid& grid, const std::vector<BytePattern>& patterns) {
  ASSERT_EQ(grid.boxes.size(), patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    ASSERT_TRUE(check_inside(grid.boxes[i], grid.shape).ok());
    ASSERT_EQ(offsets_of(grid, grid.boxes[i]), offsets_of(patterns[i]));
  }
}

// The pattern of a box of an array of `elements` bytes, as a subarray describes it.
BytePattern subarray(const Shape& shape, const Box& box, std::int64_t element) {
  BytePattern pattern(0, element);
  std::int64_t stride = element;
  for (int d = shape.dimensions() - 1; d >= 0; --d) {
    pattern = pattern.repeated(box.extent[d], stride).value();
    pattern = pattern.shifted(box.lower[d] * stride).value();
    stride *= shape.extent(d);
  }
  return pattern;
}

TEST(ByteGrid, HasTheBytesOfBoxesOfAnArray) {
  Random random(304);
  int found = 0;
  int of_more_than_one_row = 0;
  for (int round = 0; round < rounds(3000); ++round) {
    const Shape shape = random.shape();
    const std::int64_t origin = random.between(0, 50);
    std::vector<BytePattern> patterns;
    for (std::int64_t rank = random.between(1, 4); rank > 0; --rank) {
      const Box box = random.box(shape);
      patterns.push_back(subarray(shape, box, 4).shifted(origin).value());
    }
    const auto grid = grid_of(patterns, origin);
    if (!grid) continue;
    ++found;
    of_more_than_one_row += grid->shape.dimensions() > 1 ? 1 : 0;
    expect_same(*grid, patterns);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(found, rounds(3000) / 2);
  EXPECT_GT(of_more_than_one_row, rounds(3000) / 8);
}

TEST(ByteGrid, IsEqualWherePatternsHaveMovedOn) {
  const BytePattern left = BytePattern(0, 8).repeated(4, 32).value();
  const BytePattern right = left.shifted(16).value();
  const std::vector<BytePattern> before{left, right};
  const std::vector<BytePattern> after{left.shifted(128).value(), right.shifted(128).value()};
  const auto first = grid_of(before, 0);
  const auto second = grid_of(after, 0);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->shape, second->shape);
  EXPECT_EQ(first->boxes, second->boxes);
  EXPECT_EQ(second->offset - first->offset, 128);
}

TEST(ByteGrid, BeginsAtTheOriginIfThePatternsNeedIt) {
  // In an array of 2 x 8 bytes, one rank has (0, 4..7), the other has (0..1, 2..3).
  const std::vector<BytePattern> patterns{BytePattern(104, 4),
                                          BytePattern(102, 2).repeated(2, 8).value()};
  const auto grid = grid_of(patterns, 100);
  ASSERT_TRUE(grid.has_value());
  expect_same(*grid, patterns);
}

TEST(ByteGrid, IsNoneOfStridesThatDoNotFit) {
  const std::vector<BytePattern> patterns{BytePattern(0, 2).repeated(2, 8).value(),
                                          BytePattern(4, 2).repeated(2, 12).value()};
  EXPECT_FALSE(grid_of(patterns, 0).has_value());
  const std::vector<BytePattern> over_the_end{BytePattern(0, 2).repeated(2, 8).value(),
                                              BytePattern(3, 12)};
  EXPECT_FALSE(grid_of(over_the_end, 0).has_value());
}

TEST(ByteGrid, OfNoBytesIsEmpty) {
  const std::vector<BytePattern> patterns(3);
  const auto grid = grid_of(patterns, 7);
  ASSERT_TRUE(grid.has_value());
  EXPECT_EQ(grid->shape.elements(), 0);
  expect_same(*grid, patterns);
}

}  // namespace
}  // namespace weir::array

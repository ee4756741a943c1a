#include "array/explicit_distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(ExplicitDistribution, HoldsAnyBoxesOnAnyRank) {
  BoxList boxes(2);
  boxes.push_back({{0, 0}, {4, 4}});
  boxes.push_back({{4, 0}, {2, 9}});
  boxes.push_back({{0, 4}, {4, 0}});  // empty
  boxes.push_back({{8, 8}, {2, 2}});
  const auto distribution =
      ExplicitDistribution::create(Shape::create({10, 10}).value(), Numbers{2, 0, 1, 1}, boxes)
          .value();
  EXPECT_EQ(distribution.ranks(), 4);
  EXPECT_EQ(distribution.elements(0), 34);
  EXPECT_EQ(distribution.elements(1), 0);
  EXPECT_EQ(distribution.elements(2), 0);
  EXPECT_EQ(distribution.rank_of_box(1), 0);
  EXPECT_EQ(distribution.rank_of_box(2), 2);
  EXPECT_EQ(distribution.rank_of_box(3), 3);
  EXPECT_EQ(distribution.owner({9, 9}), 3);
  EXPECT_EQ(distribution.owner({9, 0}), std::nullopt);
  EXPECT_TRUE(distribution.check_disjoint().ok());
  EXPECT_FALSE(distribution.covers_array());
}

TEST(ExplicitDistribution, RefusesBoxesThatCannotBe) {
  const Shape shape = Shape::create({10, 10}).value();
  BoxList outside(2);
  outside.push_back({{0, 0}, {4, 4}});
  outside.push_back({{4, 4}, {7, 4}});
  const auto refused = ExplicitDistribution::create(shape, Numbers{1, 1}, outside);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("box 0 of rank 1"), std::string::npos)
      << refused.error().message;
  BoxList fine(2);
  fine.push_back({{0, 0}, {4, 4}});
  EXPECT_FALSE(ExplicitDistribution::create(shape, Numbers{2}, fine).ok());
  EXPECT_FALSE(ExplicitDistribution::create(shape, Numbers{2, -1}, fine).ok());
  EXPECT_FALSE(ExplicitDistribution::create(shape, Numbers{1}, BoxList(1, {0, 1})).ok());
}

TEST(ExplicitDistribution, OverlapNamesBothRanksAndBoxes) {
  BoxList boxes(2);
  boxes.push_back({{0, 0}, {5, 5}});
  boxes.push_back({{5, 0}, {5, 5}});
  boxes.push_back({{4, 4}, {2, 2}});
  const auto distribution =
      ExplicitDistribution::create(Shape::create({10, 10}).value(), Numbers{1, 2}, boxes).value();
  const Status overlap = distribution.check_disjoint();
  ASSERT_FALSE(overlap.ok());
  EXPECT_NE(overlap.error().message.find("box 0 of rank 0, (0, 0) + (5 x 5), and box 1 of rank 1"),
            std::string::npos)
      << overlap.error().message;
}

TEST(BoxIndex, FindsTheBoxesThatMeet) {
  Random random(60);
  for (int round = 0; round < rounds(1000); ++round) {
    const Shape shape = random.shape();
    BoxList boxes(shape.dimensions());
    const std::int64_t count = random.between(0, 100);
    for (std::int64_t number = 0; number < count; ++number) boxes.push_back(random.box(shape));
    const BoxIndex index(boxes);
    const Box asked = random.box(shape);
    Numbers expected;
    for (std::int64_t number = 0; number < count; ++number) {
      if (!intersect(boxes[number], asked).empty()) expected.push_back(number);
    }
    ASSERT_EQ(index.meeting(boxes, asked), expected) << "round " << round;
  }
}

TEST(BoxIndex, FindsTheFirstOverlapOfAllPairs) {
  Random random(61);
  int overlapping = 0;
  int disjoint = 0;
  for (int round = 0; round < rounds(2000); ++round) {
    const Shape shape = random.shape();
    // Disjoint tiles; in every second round one box more that may overlap.
    const RegularDistribution tiles = random.regular(shape);
    BoxList boxes(shape.dimensions());
    for (std::int64_t rank = 0; rank < tiles.ranks(); ++rank) {
      RegionBoxes of_rank(tiles.part(rank));
      for (Box box; of_rank.next(box);) boxes.push_back(box);
    }
    if (round % 2 == 1) boxes.push_back(random.box(shape));
    const auto found = BoxIndex(boxes).find_overlap(boxes);
    std::optional<BoxIndex::Overlap> expected;
    for (std::int64_t a = 0; a < boxes.size() && !expected; ++a) {
      for (std::int64_t b = a + 1; b < boxes.size() && !expected; ++b) {
        if (meet(boxes[a], boxes[b])) expected = BoxIndex::Overlap{a, b};
      }
    }
    ASSERT_EQ(found.has_value(), expected.has_value()) << "round " << round;
    ++(found ? overlapping : disjoint);
    if (!found) continue;
    ASSERT_EQ(found->first, expected->first) << "round " << round;
    ASSERT_EQ(found->second, expected->second) << "round " << round;
  }
  EXPECT_GT(overlapping, 100);
  EXPECT_GT(disjoint, 100);
}

}  // namespace
}  // namespace weir::array

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

// A packed table refuses to overflow its narrow numbers and keeps wide ones apart.
TEST(ExplicitDistribution, ExtentsOnBothSidesOf32BitsKeepTheirBoxes) {
  for (const std::int64_t extent : {(std::int64_t{1} << 32) - 1, std::int64_t{1} << 32}) {
    BoxList boxes(1);
    boxes.push_back({{extent - 1}, {1}});
    boxes.push_back({{0}, {extent - 1}});
    const auto held =
        ExplicitDistribution::create(Shape::create({extent}).value(), Numbers{1, 1}, boxes).value();
    EXPECT_EQ(held.boxes()[0], boxes[0]);
    EXPECT_EQ(held.boxes()[1], boxes[1]);
    EXPECT_EQ(held.owner({extent - 1}), 0);
    EXPECT_EQ(held.owner({extent - 2}), 1);
    EXPECT_TRUE(held.check_disjoint().ok());
  }
}

}  // namespace
}  // namespace weir::array

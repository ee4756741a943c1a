#include "array/section.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(Section, ReachesToTheLastElementAndNoFurther) {
  const Shape shape = Shape::create({10, 20}).value();
  const auto made = [&](const Numbers& start, const Numbers& count, const Numbers& stride) {
    return Section::create(shape, start, count, stride).ok();
  };
  EXPECT_TRUE(made({0, 1}, {4, 7}, {3, 3}));
  EXPECT_FALSE(made({1, 1}, {4, 7}, {3, 3}));
  EXPECT_FALSE(made({0, 1}, {4, 8}, {3, 3}));
  EXPECT_TRUE(made({10, 0}, {0, 1}, {1, 1}));
  EXPECT_FALSE(made({10, 0}, {1, 1}, {1, 1}));
  EXPECT_FALSE(made({11, 0}, {0, 1}, {1, 1}));
  EXPECT_FALSE(made({0, 0}, {1, 1}, {0, 1}));
  EXPECT_FALSE(made({0, 0}, {-1, 1}, {1, 1}));
  EXPECT_FALSE(made({0}, {1}, {1}));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(made({0, 0}, {most, 1}, {most, 1}));
  EXPECT_TRUE(made({9, 0}, {1, 1}, {most, 1}));
}

TEST(Section, RefusalNamesTheDimension) {
  const auto refused =
      Section::create(Shape::create({10, 20}).value(), Numbers{0, 5}, Numbers{1, 9}, Numbers{1, 2});
  EXPECT_NE(refused.error().message.find("dimension 1"), std::string::npos)
      << refused.error().message;
}

TEST(Section, IntersectionHoldsTheCommonElements) {
  Random random(20);
  for (int round = 0; round < rounds(2000); ++round) {
    const Shape shape = random.shape();
    const Section a = random.section(shape);
    const Section b = random.section(shape);
    const Section both = intersect(a, b);
    const Box bounds = both.bounding_box();
    std::int64_t common = 0;
    for (const Indices& index : all_elements(shape)) {
      const bool expected = holds(a, index) && holds(b, index);
      ASSERT_EQ(holds(both, index), expected) << "round " << round;
      ASSERT_TRUE(!expected || bounds.contains(index)) << "round " << round;
      if (expected) ++common;
    }
    ASSERT_EQ(both.elements(), common) << "round " << round;
  }
}

TEST(Section, IntersectionWithABoxIsASection) {
  const Section section{{1, 0}, {5, 4}, {2, 3}};
  EXPECT_EQ(intersect(section, Box{{4, 0}, {4, 5}}), (Section{{5, 0}, {2, 2}, {2, 3}}));
}

}  // namespace
}  // namespace weir::array

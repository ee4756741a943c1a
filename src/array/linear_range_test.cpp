#include "array/linear_range.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "array/odometer.hpp"
#include "array/test_random.hpp"

namespace weir::array {
namespace {

TEST(RangeBoxes, AreTheElementsOfTheRangeInOrder) {
  Random random(110);
  for (int round = 0; round < rounds(5000); ++round) {
    const Shape shape = random.shape();
    const Order order = random.order();
    const std::int64_t first = random.between(0, shape.elements());
    const std::int64_t last = random.between(first, shape.elements());
    std::int64_t number = first;
    int count = 0;
    RangeBoxes boxes(shape, order, first, last);
    for (Box box; boxes.next(box); ++count) {
      ASSERT_FALSE(box.empty());
      // The box's elements, walked in the file's order.
      const Shape inside = Shape::create(box.extent).value();
      for (std::int64_t at = 0; at < box.elements(); ++at) {
        Indices index = index_of_number(inside, order, at);
        for (int d = 0; d < shape.dimensions(); ++d) index[d] += box.lower[d];
        ASSERT_EQ(linear_number(shape, order, index), number) << "round " << round;
        ++number;
      }
    }
    ASSERT_EQ(number, last) << "round " << round;
    ASSERT_LE(count, 2 * shape.dimensions() - 1) << "round " << round;
  }
}

TEST(RangeBoxes, WholeArrayIsOneBox) {
  const Shape shape = Shape::create({3, 4, 5}).value();
  RangeBoxes boxes(shape, Order::row_major, 0, 60);
  Box box;
  ASSERT_TRUE(boxes.next(box));
  EXPECT_EQ(box, shape.box());
  EXPECT_FALSE(boxes.next(box));
}

TEST(NextNumber, IsTheNextElementOfTheRegionInTheFile) {
  Random random(111);
  for (int round = 0; round < rounds(2000); ++round) {
    const Shape shape = random.shape();
    const Order order = random.order();
    const RegularDistribution distribution = random.regular(shape);
    const Region region = random.chance(50)
                              ? distribution.part(random.between(0, distribution.ranks() - 1))
                              : Region(random.section(shape));
    std::optional<std::int64_t> expected;
    for (std::int64_t number = shape.elements(); number >= 0; --number) {
      if (number < shape.elements() && region.contains(index_of_number(shape, order, number))) {
        expected = number;
      }
      ASSERT_EQ(next_number(region, shape, order, number), expected) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace weir::array

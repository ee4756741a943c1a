#include "array/shape.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "array/element_type.hpp"
#include "array/test_extents.hpp"

namespace weir::array {
namespace {

TEST(ElementType, NamesAndSizesAreNumPys) {
  EXPECT_EQ(ElementType(ElementKind::float16).bytes(), 2);
  EXPECT_EQ(ElementType(ElementKind::complex128).bytes(), 16);
  EXPECT_EQ(ElementType(ElementKind::boolean).name(), "bool");
  EXPECT_EQ(ElementType(ElementKind::uint64).name(), "uint64");
  EXPECT_EQ(ElementType().name(), "float64");
  EXPECT_EQ(ElementType::record(24).value().name(), "record[24]");
  EXPECT_EQ(ElementType::text(24).value().name(), "text[24]");
  EXPECT_EQ(ElementType::utf32(6).value().name(), "utf32[6]");
  EXPECT_EQ(ElementType::utf32(6).value().bytes(), 24);
}

TEST(ElementType, ParseReadsEveryName) {
  for (int kind = 0; kind < static_cast<int>(ElementKind::record); ++kind) {
    const ElementType type(static_cast<ElementKind>(kind));
    EXPECT_EQ(ElementType::parse(type.name()).value(), type);
  }
  const ElementType record = ElementType::record(24).value();
  EXPECT_EQ(ElementType::parse("record[24]").value(), record);
  EXPECT_EQ(ElementType::parse("text[24]").value(), ElementType::text(24).value());
  EXPECT_EQ(ElementType::parse("utf32[6]").value(), ElementType::utf32(6).value());
  EXPECT_NE(ElementType::text(24).value(), record);
}

TEST(ElementType, RefusesUnknownNamesAndSizes) {
  for (const char* name : {"", "float128", "Float64", "record", "record[]", "record[0]",
                           "record[-8]", "record[8", "record[8x]", "record[2000000000]", "text[0]",
                           "text[1073741825]", "utf32[0]", "utf32[268435457]"}) {
    EXPECT_FALSE(ElementType::parse(name).ok()) << name;
  }
  EXPECT_NE(ElementType::parse("float128").error().message.find("complex128"), std::string::npos);
  EXPECT_FALSE(ElementType::record(0).ok());
  EXPECT_EQ(ElementType::parse("utf32[268435456]").value().bytes(), std::int64_t{1} << 30);
}

TEST(Shape, HoldsMoreThanTwoToTheFortyElements) {
  const Shape shape = Shape::create({tebi, 1024, 16}).value();
  EXPECT_EQ(shape.elements(), tebi * 1024 * 16);
  EXPECT_EQ(shape.bytes(ElementKind::float64).value(), tebi * 1024 * 16 * 8);
  EXPECT_EQ(shape.text(), "1099511627776 x 1024 x 16");
}

TEST(Shape, RefusesWhatSizesCannotHold) {
  EXPECT_FALSE(Shape::create({}).ok());
  EXPECT_FALSE(Shape::create(std::vector<std::int64_t>(17, 1)).ok());
  EXPECT_TRUE(Shape::create(std::vector<std::int64_t>(16, 2)).ok());
  EXPECT_FALSE(Shape::create({4, -1}).ok());
  EXPECT_TRUE(Shape::create({tebi, tebi / (1 << 18)}).ok());
  EXPECT_FALSE(Shape::create({tebi, tebi / (1 << 17)}).ok());
  EXPECT_FALSE(Shape::create({tebi, tebi, tebi}).ok());
  // Boxes inside multiply extents in any order, so an extent 0 excuses nothing.
  EXPECT_FALSE(Shape::create({tebi, tebi, 0}).ok());
  EXPECT_TRUE(Shape::create({tebi, 0}).ok());
  EXPECT_TRUE(Shape::create({max_elements}).value().bytes(ElementKind::int8).ok());
  EXPECT_FALSE(Shape::create({max_elements}).value().bytes(ElementKind::int16).ok());
}

TEST(Box, KnowsItsElements) {
  const Box box{{2, 3}, {4, 5}};
  EXPECT_EQ(box.elements(), 20);
  EXPECT_TRUE(box.contains({5, 7}));
  EXPECT_FALSE(box.contains({6, 7}));
  EXPECT_FALSE(box.contains({2, 2}));
  EXPECT_TRUE((Box{{0, 0}, {3, 0}}.empty()));
  EXPECT_EQ((Box{{0, 0}, {3, 0}}.elements()), 0);
}

TEST(Box, IntersectionOfApartBoxesIsEmpty) {
  const Box box{{2, 3}, {4, 5}};
  EXPECT_EQ(intersect(box, Box{{4, 0}, {9, 4}}), (Box{{4, 3}, {2, 1}}));
  EXPECT_TRUE(intersect(box, Box{{6, 3}, {2, 2}}).empty());
  EXPECT_FALSE(meet(box, Box{{6, 3}, {2, 2}}));
  EXPECT_TRUE(meet(box, Box{{5, 7}, {2, 2}}));
  EXPECT_FALSE(meet(box, Box{{3, 4}, {0, 1}}));
}

TEST(Box, InsideTheArrayOrRefused) {
  const Shape shape = Shape::create({10, 20}).value();
  EXPECT_TRUE(check_inside(Box{{0, 0}, {10, 20}}, shape).ok());
  EXPECT_TRUE(check_inside(Box{{10, 0}, {0, 20}}, shape).ok());
  EXPECT_FALSE(check_inside(Box{{1, 0}, {10, 20}}, shape).ok());
  EXPECT_FALSE(check_inside(Box{{-1, 0}, {2, 20}}, shape).ok());
  EXPECT_FALSE(check_inside(Box{{0, 0}, {2, -1}}, shape).ok());
  EXPECT_FALSE(check_inside(Box{{0}, {2}}, shape).ok());
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(check_inside(Box{{5, 5}, {most, most}}, shape).ok());
}

}  // namespace
}  // namespace weir::array

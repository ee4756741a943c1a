#include "workloads/array/geometry.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "interfaces/element_payload.hpp"

namespace weir::bench::array_io {
namespace {

array::Shape shape_of(std::initializer_list<std::int64_t> extents) {
  return array::Shape::create(extents).value();
}

Geometry geometry(const array::Shape& shape, const std::string& formats, std::int64_t ranks,
                  const array::Section& asked) {
  const auto parsed = parse_formats("distribution", formats, shape.dimensions()).value();
  const auto grid = process_grid("grid", ranks, parsed, {}).value();
  const auto by = array::RegularDistribution::create(shape, parsed, {.extents = grid}).value();
  return {shape, array::ElementKind::int32, by, by, asked};
}

TEST(Extents, AreMultipliedBySuffixes) {
  EXPECT_EQ(parse_extents("shape", "4x2kx7").value(), (array::Indices{4, 2048, 7}));
}

TEST(Extents, NameTheSettingWhenWrong) {
  const auto wrong = parse_extents("chunk", "4xx7");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("--chunk: '4xx7'"), std::string::npos);
}

TEST(Formats, CommasInParenthesesAreTheFormats) {
  const auto formats = parse_formats("distribution", "CYCLIC(32,from=1),*", 2);
  ASSERT_TRUE(formats);
  EXPECT_EQ(formats.value()[0].text(), "CYCLIC(32,from=1)");
  EXPECT_EQ(formats.value()[1].text(), "*");
}

TEST(Formats, OneStandsForAllAndOtherNumbersAreRefused) {
  EXPECT_EQ(parse_formats("distribution", "BLOCK", 3).value().size(), 3U);
  EXPECT_FALSE(parse_formats("distribution", "BLOCK,BLOCK", 3));
}

TEST(ProcessGrid, IsThatOfMpiDimsCreate) {
  const auto dims = [](std::int64_t ranks, const std::string& formats, int dimensions) {
    return process_grid("grid", ranks, parse_formats("d", formats, dimensions).value(), {}).value();
  };
  EXPECT_EQ(dims(6, "BLOCK", 2), (array::Indices{3, 2}));
  EXPECT_EQ(dims(8, "BLOCK", 3), (array::Indices{2, 2, 2}));
  EXPECT_EQ(dims(16, "BLOCK", 3), (array::Indices{4, 2, 2}));
  EXPECT_EQ(dims(7, "BLOCK", 2), (array::Indices{7, 1}));
  EXPECT_EQ(dims(6, "*,BLOCK", 2), (array::Indices{1, 6}));
}

TEST(ProcessGrid, KeepsWhatIsGiven) {
  const auto formats = parse_formats("d", "BLOCK", 3).value();
  EXPECT_EQ(process_grid("grid", 12, formats, {0, 2, 0}).value(), (array::Indices{3, 2, 2}));
  EXPECT_FALSE(process_grid("grid", 12, formats, {0, 5, 0}));
  EXPECT_FALSE(process_grid("grid", 12, formats, {4, 4, 1}));
  EXPECT_FALSE(process_grid("grid", 12, formats, {3, 4}));
}

TEST(Sections, LieInTheArray) {
  const array::Shape shape = shape_of({10, 20});
  EXPECT_EQ(parse_section("1:4,0:20", shape).value(), (array::Section{{1, 0}, {3, 20}, {1, 1}}));
  EXPECT_EQ(parse_section("1:9:3,0:20:1", shape).value(),
            (array::Section{{1, 0}, {3, 20}, {3, 1}}));
  EXPECT_EQ(parse_section("1:10:4,3:4:9", shape).value(), (array::Section{{1, 3}, {3, 1}, {4, 1}}));
  for (const char* wrong : {"1:4", "4:4,0:20", "1:11,0:20", "1:4,0-20", "1:4,0:20,0:1",
                            "1:4:0,0:20", "1:4:,0:20", "1:4:1:1,0:20", "1:4:-1,0:20"}) {
    EXPECT_FALSE(parse_section(wrong, shape)) << wrong;
  }
}

TEST(Sections, HalfIsAboutHalfAndBeginsAtOddIndices) {
  for (const auto& shape : {shape_of({1024, 1024}), shape_of({100, 64, 32}), shape_of({4096})}) {
    const array::Box half = half_section(shape);
    EXPECT_TRUE(shape.box().contains(half));
    const double share =
        static_cast<double>(half.elements()) / static_cast<double>(shape.elements());
    EXPECT_NEAR(share, 0.5, 0.03) << shape.text();
    for (const std::int64_t lower : half.lower) EXPECT_EQ(lower % 2, 1) << shape.text();
  }
}

TEST(Sections, HalfOfTheSmallestArraysIsNotEmpty) {
  for (const auto& shape :
       {shape_of({1}), shape_of({1, 1, 1}), shape_of({2, 1}), shape_of({3, 2})}) {
    const array::Box half = half_section(shape);
    EXPECT_FALSE(half.empty());
    EXPECT_TRUE(shape.box().contains(half)) << shape.text();
  }
}

// All ranks' runs together are the asked elements, each once.
TEST(Parts, RunsCoverWhatIsAskedOnce) {
  const array::Shape shape = shape_of({7, 10, 12});
  for (const std::string formats : {"BLOCK", "CYCLIC(2)", "*,CYCLIC(3),BLOCK"}) {
    for (const array::Section& asked :
         {array::Section::of(shape.box()), array::Section{{1, 3, 5}, {5, 6, 7}, {1, 1, 1}},
          array::Section{{0, 1, 2}, {4, 3, 5}, {2, 3, 2}}}) {
      std::set<std::int64_t> bytes;
      std::int64_t moved = 0;
      for (std::int64_t rank = 0; rank < 6; ++rank) {
        const Geometry whole = geometry(shape, formats, 6, asked);
        const Part part = whole.part(whole.writing, rank);
        std::int64_t mine = 0;
        for_each_run(part.runs(), [&](std::int64_t from, std::int64_t to, std::int64_t count) {
          EXPECT_GE(from, 0);
          EXPECT_LE(from + count, part.held_bytes());
          for (std::int64_t i = 0; i < count; ++i) bytes.insert(to + i);
          mine += count;
          return true;
        });
        EXPECT_EQ(mine, part.asked_bytes());
        moved += mine;
      }
      EXPECT_EQ(moved, asked.elements() * 4) << formats;
      EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), moved) << formats;
    }
  }
}

TEST(Parts, RanksBeyondTheGridHoldNothing) {
  const array::Shape shape = shape_of({8, 8});
  const Geometry four = geometry(shape, "BLOCK", 4, array::Section::of(shape.box()));
  const Part part = four.part(four.writing, 5);
  EXPECT_EQ(part.held_bytes(), 0);
  EXPECT_TRUE(part.runs().empty());
  EXPECT_TRUE(part.whole().runs().empty());
}

}  // namespace
}  // namespace weir::bench::array_io

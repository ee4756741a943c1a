#include "array/runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

Runs runs_of_box(const Box& box, const Layout& layout) {
  return Runs::of(uniform_box(box), layout);
}

TEST(Runs, WholeArrayIsOneRun) {
  const Layout layout = Layout::packed({3, 4, 5}, 8, Order::row_major).value();
  const Runs runs = runs_of_box({{0, 0, 0}, {3, 4, 5}}, layout);
  EXPECT_EQ(runs, (Runs{0, 480, {}}));
}

TEST(Runs, WholeInnerDimensionsMerge) {
  const Layout layout = Layout::packed({3, 4, 5}, 8, Order::row_major).value();
  EXPECT_EQ(runs_of_box({{1, 0, 0}, {2, 4, 5}}, layout), (Runs{160, 320, {}}));
  EXPECT_EQ(runs_of_box({{0, 1, 0}, {3, 2, 5}}, layout), (Runs{40, 80, {{3, 160}}}));
  // Columns of all rows: rows and planes are one level of 12 at the stride of a row.
  EXPECT_EQ(runs_of_box({{0, 0, 1}, {3, 4, 2}}, layout), (Runs{8, 16, {{12, 40}}}));
  EXPECT_EQ(runs_of_box({{0, 1, 1}, {2, 2, 2}}, layout), (Runs{48, 16, {{2, 160}, {2, 40}}}));
}

TEST(Runs, InAColumnMajorFileTheFirstDimensionIsContiguous) {
  const Layout layout = Layout::packed({3, 4}, 8, Order::column_major).value();
  EXPECT_EQ(runs_of_box({{0, 1}, {3, 2}}, layout), (Runs{24, 48, {}}));
  EXPECT_EQ(runs_of_box({{1, 1}, {2, 2}}, layout), (Runs{32, 16, {{2, 24}}}));
}

TEST(Runs, OfABlockCyclicMatrixAreNestedStrides) {
  // 64 x 64 in blocks of 8 x 8 over 2 x 2 processes: process (0, 0) has 4 x 4 blocks.
  const std::vector<DistributionFormat> formats(2, DistributionFormat::cyclic_of(8));
  const Region part = RegularDistribution::create(Shape::create({64, 64}).value(), formats,
                                                  {{2, 2}, Order::row_major})
                          .value()
                          .part(0);
  UniformRegion uniform;
  UniformRegions all(part);
  ASSERT_TRUE(all.next(uniform));
  const Layout file = Layout::packed({64, 64}, 4, Order::row_major).value();
  // 4 blocks of columns fill a row of the file, so the 8 rows of a block go on at the same stride.
  EXPECT_EQ(Runs::of(uniform, file), (Runs{0, 32, {{4, 4096}, {32, 64}}}));
  // In memory the part is one piece.
  const Layout memory = Layout::packed({32, 32}, 4, Order::row_major).value();
  EXPECT_EQ(Runs::of(localized(uniform, part), memory), (Runs{0, 4096, {}}));
  EXPECT_FALSE(all.next(uniform));
}

// Local memory as a program may have it: either order, ghost cells, or any strides.
Layout random_memory(Random& random, const Indices& extents, std::int64_t element_bytes) {
  if (random.chance(50)) {
    GhostCells ghosts;
    for (int d = 0; d < extents.size(); ++d) {
      ghosts.lower.push_back(random.between(0, 2));
      ghosts.upper.push_back(random.between(0, 2));
    }
    return Layout::with_ghosts(extents, element_bytes, random.order(), ghosts).value();
  }
  // Any order of dimensions, padding between them, some backwards.
  std::vector<int> dimensions(static_cast<std::size_t>(extents.size()));
  for (std::size_t d = 0; d < dimensions.size(); ++d) dimensions[d] = static_cast<int>(d);
  for (std::size_t d = dimensions.size(); d > 1; --d) {
    std::swap(
        dimensions[d - 1],
        dimensions[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(d) - 1))]);
  }
  std::vector<std::int64_t> strides(dimensions.size());
  std::int64_t stride = element_bytes;
  for (const int d : dimensions) {
    stride += random.chance(30) ? random.between(0, 5) : 0;
    strides[static_cast<std::size_t>(d)] = random.chance(20) ? -stride : stride;
    stride *= std::max<std::int64_t>(1, extents[d]);
  }
  return Layout::strided(extents, element_bytes, strides, 100000).value();
}

TEST(Runs, AreTheBytesOfThePartInTheFileAndInMemory) {
  Random random(80);
  for (int round = 0; round < rounds(3000); ++round) {
    const Shape shape = random.shape();
    const RegularDistribution distribution = random.regular(shape);
    const Region part = distribution.part(random.between(0, distribution.ranks() - 1));
    const Region request =
        random.chance(50) ? Region(random.box(shape)) : Region(random.section(shape));
    const std::int64_t element_bytes = random.between(1, 9);
    const Layout file =
        Layout::packed(shape.extents(), element_bytes, random.order(), random.between(0, 99))
            .value();
    const Layout memory = random_memory(random, part.local_extents(), element_bytes);

    std::vector<std::int64_t> file_bytes;
    std::vector<std::int64_t> memory_bytes;
    CommonRegions regions(part, request);
    for (Region common; regions.next(common);) {
      UniformRegions uniforms(common);
      for (UniformRegion uniform; uniforms.next(uniform);) {
        const auto collect = [&](const Runs& runs, std::vector<std::int64_t>& bytes,
                                 bool ascending) {
          std::int64_t count = 0;
          std::int64_t last = std::numeric_limits<std::int64_t>::min();
          RunOffsets offsets(runs);
          for (std::int64_t at = 0; offsets.next(at); ++count) {
            // In a file the runs ascend.
            ASSERT_TRUE(!ascending || at >= last) << "round " << round;
            last = at + runs.bytes;
            for (std::int64_t k = 0; k < runs.bytes; ++k) bytes.push_back(at + k);
          }
          ASSERT_EQ(runs.count(), count);
          ASSERT_EQ(runs.total_bytes(), count * runs.bytes);
        };
        ASSERT_NO_FATAL_FAILURE(collect(Runs::of(uniform, file), file_bytes, true));
        ASSERT_NO_FATAL_FAILURE(
            collect(Runs::of(localized(uniform, part), memory), memory_bytes, false));
      }
    }
    std::vector<std::int64_t> expected_file;
    std::vector<std::int64_t> expected_memory;
    for (const Indices& index : all_elements(shape)) {
      if (!part.contains(index) || !request.contains(index)) continue;
      for (std::int64_t k = 0; k < element_bytes; ++k) {
        expected_file.push_back(file.offset_of(index) + k);
        expected_memory.push_back(memory.offset_of(part.local_index(index)) + k);
      }
    }
    for (auto* bytes : {&file_bytes, &memory_bytes, &expected_file, &expected_memory}) {
      std::sort(bytes->begin(), bytes->end());
    }
    ASSERT_EQ(file_bytes, expected_file) << "round " << round;
    ASSERT_EQ(memory_bytes, expected_memory) << "round " << round;
  }
}

}  // namespace
}  // namespace weir::array

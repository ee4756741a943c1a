#include "array/region.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

Region random_region(Random& random, const Shape& shape) {
  PerDimension<IndexBlocks> along;
  for (const std::int64_t extent : shape.extents()) {
    along.push_back(extent == 0 ? IndexBlocks() : random.blocks(extent).clipped(0, extent));
  }
  return Region(along);
}

// Returns how often each element of the array lies in one of the boxes that `next` gives.
template <typename Boxes>
std::vector<int> times_covered(const Shape& shape, Boxes boxes) {
  std::vector<int> times(static_cast<std::size_t>(shape.elements()));
  for (Box box; boxes.next(box);) {
    for (Odometer<> place(box.extent); place.valid(); place.advance()) {
      Indices index = box.lower;
      for (int d = 0; d < index.size(); ++d) index[d] += place.digits()[d];
      ++times[static_cast<std::size_t>(linear_number(shape, Order::row_major, index))];
    }
  }
  return times;
}

// A random region with several blocks along each dimension, which is at least 6 wide.
Region random_cut_region(Random& random, const Shape& shape) {
  PerDimension<IndexBlocks> along;
  for (const std::int64_t extent : shape.extents()) {
    IndexBlocks blocks;
    while (blocks.is_interval()) blocks = random.blocks(extent);
    along.push_back(blocks);
  }
  return Region(along);
}

TEST(Region, BoxesAreItsElementsOnceEach) {
  Random random(30);
  for (int round = 0; round < rounds(2000); ++round) {
    const Shape shape = random.shape();
    const Region region = random_region(random, shape);
    const std::vector<int> times = times_covered(shape, RegionBoxes(region));
    std::int64_t elements = 0;
    for (const Indices& index : all_elements(shape)) {
      const bool held = region.contains(index);
      elements += held ? 1 : 0;
      ASSERT_EQ(times[static_cast<std::size_t>(linear_number(shape, Order::row_major, index))],
                held ? 1 : 0)
          << "round " << round;
    }
    ASSERT_EQ(region.elements(), elements) << "round " << round;
    std::int64_t boxes = 0;
    RegionBoxes all(region);
    for (Box box; all.next(box); ++boxes) {
      ASSERT_FALSE(box.empty());
    }
    ASSERT_EQ(region.boxes(), boxes) << "round " << round;
  }
}

TEST(Region, ClippedToABoxKeepsWhatIsInside) {
  Random random(31);
  for (int round = 0; round < rounds(3000); ++round) {
    const Shape shape = random.shape();
    const Region region = random_region(random, shape);
    const Box box = random.box(shape);
    const Region inside = region.clipped(box);
    std::int64_t elements = 0;
    for (const Indices& index : all_elements(shape)) {
      const bool expected = region.contains(index) && box.contains(index);
      ASSERT_EQ(inside.contains(index), expected) << "round " << round;
      if (!region.contains(index)) continue;
      ASSERT_EQ(region.global_index(region.local_index(index)), index) << "round " << round;
      if (expected) ++elements;
    }
    ASSERT_EQ(inside.elements(), elements) << "round " << round;
  }
}

TEST(Region, CommonRegionsAreTheElementsOfBothOnceEach) {
  Random random(32);
  int manifold = 0;  // rounds with several common sets along two dimensions or more
  for (int round = 0; round < 3000; ++round) {
    // Every third round wide enough for several common sets along both dimensions.
    const bool wide = round % 3 == 0;
    const Shape shape =
        wide ? Shape::create({random.between(20, 50), random.between(20, 50)}).value()
             : random.shape();
    const Region a = wide ? random_cut_region(random, shape) : random_region(random, shape);
    Region b(random.section(shape));
    if (random.chance(70)) {
      b = wide ? random_cut_region(random, shape) : random_region(random, shape);
    }
    std::vector<int> times(static_cast<std::size_t>(shape.elements()));
    CommonRegions regions(a, b);
    std::int64_t elements = 0;
    for (Region common; regions.next(common);) {
      ASSERT_FALSE(common.empty());
      elements += common.elements();
      const std::vector<int> some = times_covered(shape, RegionBoxes(common));
      for (std::size_t at = 0; at < times.size(); ++at) times[at] += some[at];
    }
    for (const Indices& index : all_elements(shape)) {
      ASSERT_EQ(times[static_cast<std::size_t>(linear_number(shape, Order::row_major, index))],
                a.contains(index) && b.contains(index) ? 1 : 0)
          << "round " << round;
    }
    ASSERT_EQ(common_elements(a, b), elements);
    ASSERT_EQ(meet(a, b), elements > 0);
    int several = 0;
    for (int d = 0; d < shape.dimensions(); ++d) {
      CommonBlocks sets(a.along(d), b.along(d));
      IndexBlocks common;
      several += sets.next(common) && sets.next(common) ? 1 : 0;
    }
    manifold += elements > 0 && several > 1 ? 1 : 0;
  }
  EXPECT_GT(manifold, 100);
}

TEST(Region, OfASectionHoldsItsElements) {
  Random random(33);
  for (int round = 0; round < rounds(2000); ++round) {
    const Shape shape = random.shape();
    const Section section = random.section(shape);
    const Region region(section);
    ASSERT_EQ(region.elements(), section.elements());
    for (const Indices& index : all_elements(shape)) {
      ASSERT_EQ(region.contains(index), holds(section, index)) << "round " << round;
    }
  }
}

TEST(UniformRegions, HoldTheRegionsElementsOnceEachInPlaceAndInMemory) {
  Random random(34);
  for (int round = 0; round < rounds(2000); ++round) {
    const Shape shape = random.shape();
    const Region part = random_region(random, shape);
    const Region other =
        random.chance(50) ? Region(random.box(shape)) : random_region(random, shape);
    std::set<std::int64_t> seen;
    CommonRegions regions(part, other);
    for (Region common; regions.next(common);) {
      UniformRegions uniforms(common);
      for (UniformRegion uniform; uniforms.next(uniform);) {
        const UniformRegion local = localized(uniform, part);
        Odometer<max_dimensions * 2>::Counts counts;
        for (const UniformBlocks& blocks : uniform) {
          counts.push_back(blocks.count);
          counts.push_back(blocks.length);
        }
        for (Odometer<max_dimensions * 2> place(counts); place.valid(); place.advance()) {
          Indices index;
          Indices stored;
          for (int d = 0; d < uniform.size(); ++d) {
            const std::int64_t block = place.digits()[2 * d];
            const std::int64_t inside = place.digits()[2 * d + 1];
            index.push_back(uniform[d].start + block * uniform[d].stride + inside);
            stored.push_back(local[d].start + block * local[d].stride + inside);
          }
          ASSERT_TRUE(part.contains(index) && other.contains(index)) << "round " << round;
          ASSERT_EQ(part.local_index(index), stored) << "round " << round;
          ASSERT_TRUE(seen.insert(linear_number(shape, Order::row_major, index)).second);
        }
      }
    }
    ASSERT_EQ(static_cast<std::int64_t>(seen.size()), common_elements(part, other));
  }
}

}  // namespace
}  // namespace weir::array

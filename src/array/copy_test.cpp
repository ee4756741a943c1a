#include "array/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(Random& random, std::int64_t size) {
  Bytes bytes(static_cast<std::size_t>(size));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.between(0, 255));
  return bytes;
}

TEST(StridedCopy, BetweenEqualLayoutsIsOneRun) {
  const Layout layout = Layout::packed({3, 4, 5}, 8, Order::row_major).value();
  const UniformRegion whole = uniform_box({{0, 0, 0}, {3, 4, 5}});
  const StridedCopy copy = StridedCopy::between(whole, layout, whole, layout);
  EXPECT_EQ(copy.bytes, 480);
  EXPECT_EQ(copy.runs(), 1);
}

TEST(StridedCopy, RunsAreAsLongAsBothSidesAreContiguous) {
  const Layout array = Layout::packed({3, 4, 5}, 8, Order::row_major).value();
  const Layout buffer = Layout::packed({3, 2, 5}, 8, Order::row_major).value();
  const StridedCopy copy = StridedCopy::between(uniform_box({{0, 1, 0}, {3, 2, 5}}), array,
                                                uniform_box({{0, 0, 0}, {3, 2, 5}}), buffer);
  EXPECT_EQ(copy.bytes, 80);
  EXPECT_EQ(copy.from_offset, 40);
  ASSERT_EQ(copy.levels.size(), 1);
  EXPECT_EQ(copy.levels[0], (CopyLevel{3, 160, 80}));
}

void copy_reversed(const std::byte* from, std::byte* to, std::int64_t bytes, std::int64_t number) {
  for (std::int64_t at = 0; at < bytes; at += number) {
    std::reverse_copy(from + at, from + at + number, to + at);
  }
}

// Runs of many lengths, at aligned and odd places, of which some begin with a cache line, moved
// both ways, in either byte order of numbers; nothing beside them changes.
void check_runs(std::int64_t number) {
  Random random(91);
  const Bytes source = random_bytes(random, 1 << 17);
  const Bytes before = random_bytes(random, 1 << 17);
  Bytes written = before;
  const auto in_line =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(written.data()) % 64);
  for (const auto target : {StridedCopy::Target::cached, StridedCopy::Target::streamed}) {
    for (const std::int64_t bytes : {1,   7,   8,   16,  32,  40,  63,  64,  65,   72,   127,
                                     128, 136, 192, 200, 255, 256, 264, 512, 1000, 1001, 2048}) {
      if (bytes % number != 0) continue;
      for (const std::int64_t gap : {0, 1, 8, 64}) {
        for (const std::int64_t start :
             {std::int64_t{0}, std::int64_t{3}, std::int64_t{8}, 64 - in_line}) {
          StridedCopy copy;
          copy.from_offset = 5;
          copy.to_offset = start;
          copy.bytes = bytes;
          copy.levels.push_back({3, 7 * (2 * bytes + 3), 7 * (bytes + gap)});
          copy.levels.push_back({7, 2 * bytes + 3, bytes + gap});
          Bytes expected = before;
          for (std::int64_t run = 0; run < 21; ++run) {
            copy_reversed(source.data() + 5 + run * (2 * bytes + 3),
                          expected.data() + start + run * (bytes + gap), bytes, number);
          }
          std::ranges::copy(before, written.begin());
          copy.run(source.data(), written.data(), target, number);
          ASSERT_EQ(std::memcmp(written.data(), expected.data(), expected.size()), 0)
              << bytes << " bytes, " << gap << " between, from " << start << ", numbers of "
              << number;
        }
      }
    }
  }
}

TEST(StridedCopy, RunsOfEveryLengthArriveWhole) { check_runs(1); }

TEST(StridedCopy, RunsOfEveryLengthArriveSwapped) {
  for (const std::int64_t number : {2, 4, 8}) check_runs(number);
}

TEST(StridedCopy, TransposesBetweenOrders) {
  // Both sides of the tiles of 16, whole ones and cut ones.
  for (const std::int64_t rows : {1, 15, 16, 33}) {
    for (const std::int64_t columns : {2, 16, 50}) {
      const Layout from = Layout::packed({rows, columns}, 8, Order::row_major).value();
      const Layout to = Layout::packed({rows, columns}, 8, Order::column_major).value();
      Random random(90);
      const Bytes source = random_bytes(random, rows * columns * 8);
      Bytes target(source.size());
      copy_box({rows, columns}, source.data(), from, {0, 0}, target.data(), to, {0, 0});
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          ASSERT_EQ(std::memcmp(source.data() + from.offset_of({i, j}),
                                target.data() + to.offset_of({i, j}), 8),
                    0);
        }
      }
      const UniformRegion whole = uniform_box({{0, 0}, {rows, columns}});
      Bytes swapped(source.size());
      StridedCopy::between(whole, from, whole, to)
          .run(source.data(), swapped.data(), StridedCopy::Target::cached, 8);
      Bytes expected(source.size());
      copy_reversed(target.data(), expected.data(), rows * columns * 8, 8);
      ASSERT_EQ(swapped, expected);
    }
  }
}

TEST(CopyBox, OfNothingCopiesNothing) {
  const Layout layout = Layout::packed({3, 4}, 8, Order::row_major).value();
  copy_box({3, 0}, nullptr, layout, {0, 0}, nullptr, layout, {0, 0});
}

TEST(CopyBox, MovesTheElementsAndTouchesNothingElse) {
  Random random(91);
  for (int round = 0; round < rounds(3000); ++round) {
    const Shape shape = random.shape();
    if (shape.elements() == 0) continue;
    const Box box = random.box(shape);
    Indices zero(shape.dimensions());
    GhostCells ghosts{Indices(shape.dimensions(), random.between(0, 1)), zero};
    const std::int64_t element_bytes = std::int64_t{1} << random.between(0, 7);
    const Layout from = Layout::packed(shape.extents(), element_bytes, random.order()).value();
    const Layout to =
        Layout::with_ghosts(box.extent, element_bytes, random.order(), ghosts).value();
    const Bytes source = random_bytes(random, from.bounds().upper);
    const Bytes before = random_bytes(random, to.bounds().upper);
    Bytes after = before;
    copy_box(box.extent, source.data(), from, box.lower, after.data(), to, zero);

    Bytes expected = before;
    for (const Indices& index : all_elements(shape)) {
      if (!box.contains(index)) continue;
      Indices inside = index;
      for (int d = 0; d < shape.dimensions(); ++d) inside[d] -= box.lower[d];
      std::memcpy(expected.data() + to.offset_of(inside), source.data() + from.offset_of(index),
                  static_cast<std::size_t>(element_bytes));
    }
    ASSERT_EQ(after, expected) << "round " << round;
  }
}

// What an aggregator's gathering is: each rank's part, cut to a section, goes from the rank's
// memory to its place in the memory of another distribution's rank.
TEST(StridedCopy, RedistributesAnArray) {
  Random random(92);
  for (int round = 0; round < rounds(500); ++round) {
    const Shape shape = random.shape();
    const RegularDistribution before = random.regular(shape);
    const RegularDistribution after = random.regular(shape);
    const Region section(random.section(shape));
    const std::int64_t element_bytes = 8;
    const auto memory = [&](const Region& part) {
      return Layout::packed(part.local_extents(), element_bytes, random.order()).value();
    };
    for (std::int64_t b = 0; b < after.ranks(); ++b) {
      const Region to_part = after.part(b);
      const Layout to = memory(to_part);
      Bytes target(static_cast<std::size_t>(to.bounds().upper), std::byte{0xff});
      for (std::int64_t a = 0; a < before.ranks(); ++a) {
        const Region from_part = before.part(a);
        const Layout from = memory(from_part);
        Bytes source(static_cast<std::size_t>(from.bounds().upper));
        for (const Indices& index : all_elements(shape)) {
          if (!from_part.contains(index)) continue;
          const std::int64_t number = linear_number(shape, Order::row_major, index);
          std::memcpy(source.data() + from.offset_of(from_part.local_index(index)), &number, 8);
        }
        CommonRegions in_section(from_part, section);
        for (Region some; in_section.next(some);) {
          CommonRegions in_both(some, to_part);
          for (Region common; in_both.next(common);) {
            UniformRegions uniforms(common);
            for (UniformRegion uniform; uniforms.next(uniform);) {
              StridedCopy::between(localized(uniform, from_part), from, localized(uniform, to_part),
                                   to)
                  .run(source.data(), target.data());
            }
          }
        }
      }
      for (const Indices& index : all_elements(shape)) {
        if (!to_part.contains(index)) continue;
        std::int64_t number = 0;
        std::memcpy(&number, target.data() + to.offset_of(to_part.local_index(index)), 8);
        ASSERT_EQ(number,
                  section.contains(index) ? linear_number(shape, Order::row_major, index) : -1)
            << "round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace weir::array

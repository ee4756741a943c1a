#include "array/index_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "array/common_blocks.hpp"
#include "array/number_theory.hpp"
#include "array/test_random.hpp"

namespace weir::array {
namespace {

constexpr std::int64_t extent = 70;

std::vector<std::int64_t> indices_of_blocks(const IndexBlocks& blocks) {
  std::vector<std::int64_t> indices;
  for (std::int64_t number = 0; number < blocks.blocks(); ++number) {
    const Interval block = blocks.block(number);
    for (std::int64_t x = block.lower; x < block.upper; ++x) indices.push_back(x);
  }
  return indices;
}

TEST(NumberTheory, InverseTimesNumberIsOne) {
  for (std::int64_t modulus = 1; modulus < 60; ++modulus) {
    for (std::int64_t a = 0; a < 2 * modulus; ++a) {
      if (std::gcd(a, modulus) != 1) continue;
      EXPECT_EQ(multiply_modulo(a, inverse_modulo(a, modulus), modulus), 1 % modulus);
    }
  }
}

TEST(NumberTheory, FirstInRangeIsWhatTryingFinds) {
  for (std::int64_t modulus = 1; modulus <= 24; ++modulus) {
    for (std::int64_t step = 0; step <= modulus + 2; ++step) {
      for (std::int64_t first = 0; first < modulus; ++first) {
        for (std::int64_t last = first; last < modulus; ++last) {
          std::optional<std::int64_t> expected;
          for (std::int64_t x = 0; x < modulus && !expected; ++x) {
            const std::int64_t place = step * x % modulus;
            if (first <= place && place <= last) expected = x;
          }
          ASSERT_EQ(first_in_range(step, modulus, first, last), expected)
              << step << " modulo " << modulus << " in " << first << " to " << last;
        }
      }
    }
  }
}

TEST(NumberTheory, DoesNotOverflowNearTheGreatestNumbers) {
  const std::int64_t modulus = (std::int64_t{1} << 62) - 57;  // a prime
  EXPECT_EQ(multiply_modulo(modulus - 1, modulus - 1, modulus), 1);
  const std::int64_t a = (std::int64_t{1} << 61) + 12345;
  EXPECT_EQ(multiply_modulo(a, inverse_modulo(a, modulus), modulus), 1);
  const auto x = first_in_range(a, modulus, 1000, 1000);
  ASSERT_TRUE(x.has_value());
  EXPECT_EQ(multiply_modulo(a, *x, modulus), 1000);
}

TEST(IndexBlocks, HoldTheIndicesOfTheDefinition) {
  // Blocks of 3 at 2, 12, 22, …, cut to [4, 30).
  const IndexBlocks blocks = IndexBlocks::periodic(2, 3, 10, 100).clipped(4, 30);
  EXPECT_EQ(indices_of_blocks(blocks), (std::vector<std::int64_t>{4, 12, 13, 14, 22, 23, 24}));
  EXPECT_EQ(blocks.lower(), 4);
  EXPECT_EQ(blocks.upper(), 25);
  EXPECT_EQ(blocks.size(), 7);
  EXPECT_EQ(blocks.position(13), 2);
  EXPECT_EQ(blocks.at(4), 22);
  const auto uniform = blocks.uniform();
  ASSERT_EQ(uniform.size(), 2);
  EXPECT_EQ(uniform[0], (UniformBlocks{4, 1, 1, 1}));
  EXPECT_EQ(uniform[1], (UniformBlocks{12, 3, 10, 2}));
}

TEST(IndexBlocks, TouchingBlocksAreAnInterval) {
  EXPECT_EQ(IndexBlocks::strided(3, 5, 1), IndexBlocks::interval(3, 8));
  EXPECT_EQ(IndexBlocks::periodic(3, 4, 9, 7), IndexBlocks::interval(3, 7));
  EXPECT_EQ(IndexBlocks::periodic(3, 4, 9, 30).clipped(13, 20), IndexBlocks::interval(13, 16));
  EXPECT_EQ(IndexBlocks::periodic(3, 4, 9, 30).clipped(7, 12), IndexBlocks());
  EXPECT_EQ(IndexBlocks::interval(5, 5), IndexBlocks());
}

TEST(IndexBlocks, ClosedFormsEqualEnumeration) {
  Random random(1);
  for (int round = 0; round < rounds(20000); ++round) {
    const IndexBlocks blocks = random.blocks(extent);
    const std::vector<std::int64_t> indices = indices_of_blocks(blocks);
    ASSERT_TRUE(std::is_sorted(indices.begin(), indices.end()));
    ASSERT_EQ(blocks.size(), static_cast<std::int64_t>(indices.size()));
    ASSERT_EQ(blocks.empty(), indices.empty());
    if (!indices.empty()) {
      ASSERT_EQ(blocks.lower(), indices.front());
      ASSERT_EQ(blocks.upper(), indices.back() + 1);
    }
    std::int64_t before = 0;
    for (std::int64_t x = 0; x < extent + 3; ++x) {
      ASSERT_EQ(blocks.position(x), before) << "round " << round << " index " << x;
      const bool held = std::binary_search(indices.begin(), indices.end(), x);
      ASSERT_EQ(blocks.contains(x), held) << "round " << round << " index " << x;
      if (!held) continue;
      ASSERT_EQ(blocks.at(before), x) << "round " << round;
      ++before;
    }
  }
}

TEST(IndexBlocks, ClippingKeepsExactlyWhatIsInside) {
  Random random(2);
  for (int round = 0; round < rounds(20000); ++round) {
    const IndexBlocks blocks = random.blocks(extent);
    const std::int64_t lower = random.between(-3, extent + 3);
    const std::int64_t upper = random.between(-3, extent + 3);
    std::vector<std::int64_t> expected;
    for (const std::int64_t x : indices_of_blocks(blocks)) {
      if (x >= lower && x < upper) expected.push_back(x);
    }
    ASSERT_EQ(indices_of_blocks(blocks.clipped(lower, upper)), expected) << "round " << round;
  }
}

TEST(IndexBlocks, UniformPiecesAreTheSameIndices) {
  Random random(3);
  for (int round = 0; round < rounds(20000); ++round) {
    const IndexBlocks blocks = random.blocks(extent);
    std::vector<std::int64_t> indices;
    for (const UniformBlocks& piece : blocks.uniform()) {
      for (std::int64_t j = 0; j < piece.count; ++j) {
        for (std::int64_t k = 0; k < piece.length; ++k) {
          indices.push_back(piece.start + j * piece.stride + k);
        }
      }
    }
    ASSERT_EQ(indices, indices_of_blocks(blocks)) << "round " << round;
  }
}

TEST(CommonBlocks, AreTheIndicesOfBoth) {
  Random random(4);
  int interleaved = 0;
  for (int round = 0; round < rounds(60000); ++round) {
    // Long ones, with several common periods, and short ones, with less than one.
    const std::int64_t length = round % 2 == 0 ? extent : 1000;
    const IndexBlocks a = random.blocks(length);
    const IndexBlocks b = random.blocks(length);
    std::vector<std::int64_t> expected;
    for (const std::int64_t x : indices_of_blocks(a)) {
      if (b.contains(x)) expected.push_back(x);
    }
    std::vector<std::int64_t> found;
    CommonBlocks sets(a, b);
    std::int64_t count = 0;
    for (IndexBlocks common; sets.next(common); ++count) {
      ASSERT_FALSE(common.empty());
      // What localized() in region.hpp relies on: no block of the answer leaves a block of either.
      for (std::int64_t number = 0; number < common.blocks(); ++number) {
        const Interval block = common.block(number);
        ASSERT_EQ(a.position(block.upper) - a.position(block.lower), block.size());
      }
      const auto some = indices_of_blocks(common);
      found.insert(found.end(), some.begin(), some.end());
    }
    if (!std::is_sorted(found.begin(), found.end())) {
      ++interleaved;
      std::sort(found.begin(), found.end());
    }
    ASSERT_EQ(found, expected) << "round " << round;
    ASSERT_EQ(common_size(a, b), static_cast<std::int64_t>(expected.size()));
    // No more sets than blocks of the answer.
    ASSERT_LE(count, static_cast<std::int64_t>(expected.size()));
    sets.restart();
    IndexBlocks again;
    ASSERT_EQ(sets.next(again), count > 0);
  }
  EXPECT_GT(interleaved, 0);  // else one of the two ways was never taken
}

TEST(CommonBlocks, OfTwoSectionsAreOneSection) {
  // x ≡ 2 mod 6 and x ≡ 5 mod 9: x ≡ 14 mod 18 (the Chinese remainder theorem).
  CommonBlocks sets(IndexBlocks::strided(2, 1000, 6), IndexBlocks::strided(5, 1000, 9));
  IndexBlocks common;
  ASSERT_TRUE(sets.next(common));
  EXPECT_EQ(common.lower(), 14);
  EXPECT_EQ(common.stride(), 18);
  EXPECT_FALSE(sets.next(common));
  CommonBlocks none(IndexBlocks::strided(2, 1000, 6), IndexBlocks::strided(3, 1000, 9));
  EXPECT_FALSE(none.next(common));
}

TEST(CommonBlocks, OfBlockCyclicSetsAreFewHoweverManyBlocksMeet) {
  // CYCLIC(32) over 4 processes against CYCLIC(48) over 4: period 384, 2^40 indices. Differences of
  // block starts are multiples of gcd(128, 192) = 64: two of them make blocks meet.
  const std::int64_t all = std::int64_t{1} << 40;
  const IndexBlocks a = IndexBlocks::periodic(32, 32, 128, all);
  const IndexBlocks b = IndexBlocks::periodic(0, 48, 192, all);
  CommonBlocks sets(a, b);
  int count = 0;
  std::int64_t size = 0;
  for (IndexBlocks common; sets.next(common); ++count) size += common.size();
  EXPECT_LE(count, 2);
  const auto counted = [&](std::int64_t end) {
    std::int64_t both = 0;
    for (std::int64_t x = 0; x < end; ++x) both += a.contains(x) && b.contains(x) ? 1 : 0;
    return both;
  };
  EXPECT_EQ(size, all / 384 * counted(384) + counted(all % 384));
}

}  // namespace
}  // namespace weir::array

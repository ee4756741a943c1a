#include "workloads/replay/byte_ranges.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace weir::bench::replay {
namespace {

// Every set of ranges of a small file is compared with a set of single bytes.
TEST(ByteRanges, AreTheBytesThatWereAddedAndNotCut) {
  constexpr std::size_t size = 48;
  std::mt19937_64 random(3);
  const auto draw = [&](std::size_t most) { return random() % most; };
  for (int round = 0; round < 300; ++round) {
    ByteRanges ranges;
    std::bitset<size> bytes;
    for (int step = 0; step < 12; ++step) {
      const std::size_t begin = draw(size);
      const std::size_t end = begin + 1 + draw(size - begin);
      const auto from_byte = static_cast<std::int64_t>(begin);
      const auto to_byte = static_cast<std::int64_t>(end);
      if (draw(5) == 0) {
        ranges.cut(from_byte);
        for (std::size_t i = begin; i < size; ++i) bytes.reset(i);
      } else {
        ranges.add(from_byte, to_byte);
        for (std::size_t i = begin; i < end; ++i) bytes.set(i);
      }
      std::bitset<size> found;
      std::int64_t last_end = -1;
      for (const auto& [from, to] : ranges.ranges()) {
        EXPECT_LT(last_end, from) << "ranges touch each other";
        EXPECT_LT(from, to);
        for (std::int64_t i = from; i < to; ++i) found.set(static_cast<std::size_t>(i));
        last_end = to;
      }
      EXPECT_EQ(found, bytes);
      std::bitset<size> gaps;
      ranges.for_each_gap(from_byte, to_byte, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) gaps.set(static_cast<std::size_t>(i));
      });
      for (std::size_t i = begin; i < end; ++i) EXPECT_NE(gaps[i], bytes[i]);
      EXPECT_EQ((gaps >> end).count() + (gaps << (size - begin)).count(), 0U);
    }
  }
}

}  // namespace
}  // namespace weir::bench::replay

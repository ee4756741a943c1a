#include "plan/buffer_turns.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weir::plan {
namespace {

std::int64_t buffer_of(const BufferTurns& turns, std::int64_t step, std::int64_t part) {
  return turns.buffer_of({.step = step, .aggregator = 0, .array = 0, .unit = step, .part = part});
}

TEST(BufferTurns, UnitsTakeAllBuffersWhicheverPartIsRequested) {
  for (std::int64_t buffers = 1; buffers <= 9; ++buffers) {
    for (std::int64_t parts = 1; parts <= 9; ++parts) {
      const BufferTurns turns(parts, buffers);
      for (std::int64_t part = 0; part < parts; ++part) {
        std::set<std::int64_t> used;
        for (std::int64_t step = 0; step < buffers; ++step) {
          used.insert(buffer_of(turns, step, part));
        }
        EXPECT_EQ(std::ssize(used), buffers) << parts << " parts, part " << part;
      }
    }
  }
}

TEST(BufferTurns, TurnsAscendWithGapsOnlyWhereBuffersRepeat) {
  const BufferTurns coprime(4, 7);
  EXPECT_EQ(coprime.turn_of({.step = 2, .part = 3}), 2 * 4 + 3);
  const BufferTurns repeating(4, 8);
  EXPECT_EQ(repeating.turn_of({.step = 2, .part = 3}), 2 * 5 + 3);
  EXPECT_EQ(repeating.buffer_of({.step = 2, .part = 3}), 13 % 8);
}

TEST(BufferTurns, TurnsHaveTheirBits) {
  const BufferTurns turns(1, 2);
  const std::int64_t all = std::int64_t{1} << BufferTurns::bits;
  EXPECT_EQ(turns.turn_of({.step = all - 1}), all - 1);
  EXPECT_EQ(turns.turn_of({.step = all}), 0);
}

}  // namespace
}  // namespace weir::plan

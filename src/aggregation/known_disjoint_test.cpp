#include "aggregation/known_disjoint.hpp"

#include <gtest/gtest.h>

namespace weir::aggregation {
namespace {

constexpr std::uint64_t most_disjoint = KnownDisjoint::most_known;

KnownDisjoint known_disjoint(std::uint64_t count) {
  KnownDisjoint known;
  for (std::uint64_t one = 0; one < count; ++one) known.add(one);
  return known;
}

TEST(KnownDisjoint, KnowsAllUpToTheLimit) {
  KnownDisjoint known = known_disjoint(most_disjoint);
  for (std::uint64_t one = 0; one < most_disjoint; ++one) EXPECT_TRUE(known.has(one)) << one;
  EXPECT_FALSE(known.has(most_disjoint));
}

TEST(KnownDisjoint, ForgetsTheOneUsedLongestAgoBeyondTheLimit) {
  KnownDisjoint known = known_disjoint(most_disjoint);
  EXPECT_TRUE(known.has(0));  // used again
  known.add(most_disjoint);
  EXPECT_TRUE(known.has(0));
  EXPECT_FALSE(known.has(1));
  for (std::uint64_t one = 2; one <= most_disjoint; ++one) EXPECT_TRUE(known.has(one)) << one;
}

}  // namespace
}  // namespace weir::aggregation

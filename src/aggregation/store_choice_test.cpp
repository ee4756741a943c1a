#include "aggregation/store_choice.hpp"

#include <gtest/gtest.h>

namespace weir::aggregation {
namespace {

using Target = StoreChoice::Target;

constexpr std::int64_t bytes = 1 << 20;

struct Costs {
  std::int64_t cached_ns = 0;
  std::int64_t streamed_ns = 0;
};

// Returns how many of `copies` went through the caches.
int cached_of(StoreChoice& choice, int copies, const Costs& costs) {
  int cached = 0;
  for (int i = 0; i < copies; ++i) {
    const auto [way, is_timed] = choice.next(bytes);
    if (is_timed) {
      choice.took(way, bytes, way == Target::cached ? costs.cached_ns : costs.streamed_ns);
    }
    if (way == Target::cached) ++cached;
  }
  return cached;
}

TEST(StoreChoice, StaysInCachesThatAreShared) {
  StoreChoice choice;
  EXPECT_GE(cached_of(choice, 200, {.cached_ns = 100'000, .streamed_ns = 100'000}), 180);
}

TEST(StoreChoice, GoesPastCachesThatAreNot) {
  StoreChoice choice;
  EXPECT_LE(cached_of(choice, 200, {.cached_ns = 500'000, .streamed_ns = 100'000}), 20);
}

TEST(StoreChoice, FollowsCoresThatMove) {
  StoreChoice choice;
  cached_of(choice, 200, {.cached_ns = 500'000, .streamed_ns = 100'000});
  cached_of(choice, 200, {.cached_ns = 50'000, .streamed_ns = 100'000});
  EXPECT_GE(cached_of(choice, 200, {.cached_ns = 50'000, .streamed_ns = 100'000}), 180);
  cached_of(choice, 50, {.cached_ns = 500'000, .streamed_ns = 100'000});
  EXPECT_LE(cached_of(choice, 200, {.cached_ns = 500'000, .streamed_ns = 100'000}), 20);
}

TEST(StoreChoice, TriesMoreRarelyWhatItKnows) {
  const Costs costs{.cached_ns = 100'000, .streamed_ns = 400'000};
  StoreChoice choice;
  EXPECT_LT(cached_of(choice, 200, costs), 200);  // has tried
  cached_of(choice, 600, costs);
  EXPECT_GE(cached_of(choice, 384, costs), 383);
  EXPECT_LE(cached_of(choice, 384, costs), 383);
}

TEST(StoreChoice, FindsOutWhenTheOtherWayBecomesFaster) {
  StoreChoice choice;
  cached_of(choice, 1200, {.cached_ns = 500'000, .streamed_ns = 100'000});
  cached_of(choice, 500, {.cached_ns = 50'000, .streamed_ns = 100'000});
  EXPECT_GE(cached_of(choice, 200, {.cached_ns = 50'000, .streamed_ns = 100'000}), 180);
}

TEST(StoreChoice, TimesFewCopies) {
  StoreChoice choice;
  const Costs costs{.cached_ns = 100'000, .streamed_ns = 400'000};
  cached_of(choice, 2000, costs);
  int timed = 0;
  for (int i = 0; i < 384; ++i) {
    const auto [way, is_timed] = choice.next(bytes);
    if (!is_timed) continue;
    choice.took(way, bytes, way == Target::cached ? costs.cached_ns : costs.streamed_ns);
    ++timed;
  }
  EXPECT_GE(timed, 384 / 24);
  EXPECT_LE(timed, 384 / 24 + 1);
}

TEST(StoreChoice, StaysAfterOneSlowCopy) {
  const Costs alike{.cached_ns = 100'000, .streamed_ns = 100'000};
  StoreChoice choice;
  cached_of(choice, 600, alike);
  while (!choice.next(bytes).is_timed) {
  }
  choice.took(Target::cached, bytes, 290'000);
  EXPECT_EQ(choice.next(bytes).way, Target::cached);
}

TEST(StoreChoice, LearnsNothingFromShortCopies) {
  StoreChoice choice;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(choice.next(100).way, Target::cached);
    EXPECT_FALSE(choice.next(100).is_timed);
  }
  EXPECT_TRUE(choice.next(16 << 10).is_timed);
}

}  // namespace
}  // namespace weir::aggregation

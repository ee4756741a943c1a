#include "measurement/busy_work.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weir::bench {
namespace {

TEST(BusyWork, OperationsFollowTheExponentAndAreDividedOverTheRanks) {
  EXPECT_EQ(busy_work_operations(100, 2, 0, 4), 2500);
  EXPECT_EQ(busy_work_operations(100, 3, 0, 4), 250000);
  EXPECT_EQ(busy_work_operations(10, 3, 0, 3), 334);     // rounded up
  EXPECT_EQ(busy_work_operations(100, 3, 0.5, 1), 100);  // alpha replaces the exponent
  EXPECT_EQ(busy_work_operations(1 << 29, 3, 0, 1), std::int64_t{1} << 62);
}

TEST(BusyWork, CallsProgressOncePerInterval) {
  int calls = 0;
  busy_work(3 * progress_interval + 1, [&] { ++calls; });
  EXPECT_EQ(calls, 4);
}

// Every operation counts: were the loop shortened, the recurrence would stop at another value.
TEST(BusyWork, DoesEveryStepOfTheRecurrence) {
  constexpr std::int64_t steps = 1000;
  double x = 0.5;
  double sum = 0;
  for (const double start : {0.5, 0.75, 1.0, 1.25}) {
    x = start;
    for (std::int64_t i = 0; i < steps / 4; ++i) x = x * 0.999999 + 1e-6;
    sum += x;
  }
  EXPECT_NEAR(busy_work(steps, {}), sum / 4, 1e-12);
}

TEST(BusyWork, StaysFinite) { EXPECT_TRUE(std::isfinite(busy_work(50'000'000, {}))); }

}  // namespace
}  // namespace weir::bench

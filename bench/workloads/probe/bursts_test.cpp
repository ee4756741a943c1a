#include "workloads/probe/bursts.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::bench::probe {
namespace {

// Bursts of `each` operations every `period` places, the first one at `first`.
std::vector<std::int64_t> curve(std::size_t first, std::size_t period, std::int64_t each) {
  std::vector<std::int64_t> done(curve_places);
  for (std::size_t place = first; place < done.size(); place += period) done[place] = each;
  return done;
}

TEST(BurstsSeconds, AreThoseOfWholePeriods) {
  // Half a second: 5 bursts of 20 at 0.05, 0.15, ... s. 100 operations at 200 per second.
  const auto done = curve(51, 102, 20);
  EXPECT_NEAR(bursts_seconds(done, 0.5).value_or(0), 0.5, 0.01);
}

TEST(BurstsSeconds, LeaveOutWhatAnIdleDeviceTookAtOnce) {
  auto done = curve(102, 102, 20);
  done[0] = 20;  // free, because the device was idle
  EXPECT_NEAR(bursts_seconds(done, 0.5).value_or(0), 120 / 200.0, 0.02);
}

TEST(BurstsSeconds, AreNotThoseOfASteadyStream) {
  EXPECT_FALSE(bursts_seconds(std::vector<std::int64_t>(curve_places, 3), 0.5));
  EXPECT_FALSE(bursts_seconds(curve(0, 4, 3), 0.5));
}

TEST(BurstsSeconds, AreNotMadeOfSingleStalls) {
  std::vector<std::int64_t> done(curve_places, 3);
  for (const std::size_t stall : {100U, 300U}) {
    for (std::size_t i = 0; i < 20; ++i) done[stall + i] = 0;
  }
  EXPECT_FALSE(bursts_seconds(done, 0.5));
}

TEST(BurstsSeconds, NeedTwoBursts) {
  EXPECT_FALSE(bursts_seconds(curve(300, 400, 20), 0.5));
  EXPECT_FALSE(bursts_seconds(std::vector<std::int64_t>(curve_places, 0), 0.5));
}

}  // namespace
}  // namespace weir::bench::probe

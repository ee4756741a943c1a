#include "measurement/clock_offset.hpp"

#include <gtest/gtest.h>

namespace weir::bench {
namespace {

constexpr ClockOffset at_start{.offset_ns = 1'000, .error_bound_ns = 40, .measured_at_ns = 5'000};
constexpr ClockOffset at_end{.offset_ns = 3'000, .error_bound_ns = 25, .measured_at_ns = 15'000};

TEST(Interpolate, TakesDriftAsLinear) {
  EXPECT_EQ(interpolate(at_start, at_end, 5'000).offset_ns, 1'000);
  EXPECT_EQ(interpolate(at_start, at_end, 10'000).offset_ns, 2'000);
  EXPECT_EQ(interpolate(at_start, at_end, 12'500).offset_ns, 2'500);
  EXPECT_EQ(interpolate(at_start, at_end, 15'000).offset_ns, 3'000);
}

TEST(Interpolate, KeepsTheNearerEstimateOutsideTheRun) {
  EXPECT_EQ(interpolate(at_start, at_end, 0).offset_ns, 1'000);
  EXPECT_EQ(interpolate(at_start, at_end, 1'000'000).offset_ns, 3'000);
}

TEST(Interpolate, KeepsTheLargerBound) {
  EXPECT_EQ(interpolate(at_start, at_end, 10'000).error_bound_ns, 40);
  EXPECT_EQ(interpolate(at_end, at_start, 10'000).error_bound_ns, 40);
}

TEST(Interpolate, OneEstimateTwiceIsThatEstimate) {
  EXPECT_EQ(interpolate(at_start, at_start, 5'000).offset_ns, 1'000);
  EXPECT_EQ(interpolate(at_start, at_start, 9'000).offset_ns, 1'000);
}

TEST(Interpolate, IsExactForOffsetsOfYears) {
  constexpr std::int64_t year_ns = 31'536'000'000'000'000;
  const ClockOffset start{.offset_ns = -40 * year_ns, .error_bound_ns = 1, .measured_at_ns = 0};
  const ClockOffset end{
      .offset_ns = -40 * year_ns + 10, .error_bound_ns = 1, .measured_at_ns = 1'000};
  EXPECT_EQ(interpolate(start, end, 500).offset_ns, -40 * year_ns + 5);
}

}  // namespace
}  // namespace weir::bench

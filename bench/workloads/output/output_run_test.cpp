#include "workloads/output/output_run.hpp"

#include <gtest/gtest.h>

namespace weir::bench::output {
namespace {

Event from_to(std::int8_t function, std::int64_t start, std::int64_t end) {
  return {.function = function, .start_ns = start, .end_ns = end};
}

TEST(WithoutOverlap, AFileBeginsWhenTheOneBeforeItsKindIsDurable) {
  const auto apart = without_overlap(
      {from_to(function_checkpoint, 0, 100), from_to(function_plot, 10, 120),
       from_to(function_checkpoint, 60, 150), from_to(function_checkpoint, 200, 220)});
  EXPECT_EQ(apart[0].start_ns, 0);
  EXPECT_EQ(apart[1].start_ns, 10);
  EXPECT_EQ(apart[2].start_ns, 100);
  EXPECT_EQ(apart[3].start_ns, 200);
}

}  // namespace
}  // namespace weir::bench::output

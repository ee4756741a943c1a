#include "measurement/job.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace weir::bench {
namespace {

TEST(StatusOf, ABarrierAtWhichNobodyFailedIsGood) {
  int failed = none_failed;
  std::int64_t wait_ns = 0;
  EXPECT_TRUE(status_of(Agreement{none_failed, 5}, 2, {}, &failed, &wait_ns).ok());
  EXPECT_EQ(failed, none_failed);
  EXPECT_EQ(wait_ns, 5);
}

TEST(StatusOf, ARankGetsItsOwnErrorAndOthersWhoseItIs) {
  int failed = none_failed;
  const Error own = Error(ErrorCode::io, "no space");
  const Status here = status_of(Agreement{2, 5}, 2, own, &failed, nullptr);
  ASSERT_FALSE(here.ok());
  EXPECT_EQ(here.error().message, "no space");
  EXPECT_EQ(here.error().rank, 2);
  const Status there = status_of(Agreement{2, 5}, 0, {}, &failed, nullptr);
  ASSERT_FALSE(there.ok());
  EXPECT_EQ(there.error().code, ErrorCode::peer);
  EXPECT_EQ(there.error().rank, 2);
  EXPECT_EQ(failed, 2);
}

// What the barrier was missed for may be what this rank met, so that is told as well.
TEST(StatusOf, AMissedDeadlineKeepsTheOwnError) {
  int failed = none_failed;
  const Result<Agreement> missed = Error(ErrorCode::deadline, "barrier did not end");
  const Status status = status_of(missed, 1, Error(ErrorCode::io, "no space"), &failed, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::deadline);
  EXPECT_NE(status.error().message.find("barrier did not end"), std::string::npos);
  EXPECT_NE(status.error().message.find("no space"), std::string::npos);
  EXPECT_EQ(failed, 1);
}

}  // namespace
}  // namespace weir::bench

#include "storage/formats/trial_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <new>
#include <thread>

namespace weir::storage {
namespace {

TEST(TrialProcess, TellsWhoReturnsFromWhoCrashes) {
  EXPECT_TRUE(survive_trial([] { return Status(); }, "x").ok());
  const Status crashed = survive_trial([] { return ::raise(SIGSEGV), Status(); }, "bad.h5");
  ASSERT_FALSE(crashed.ok());
  EXPECT_EQ(crashed.error().code, ErrorCode::corrupt);
  EXPECT_EQ(crashed.error().file, "bad.h5");
  EXPECT_FALSE(survive_trial([] { return ::_exit(0), Status(); }, "x").ok());
  EXPECT_FALSE(survive_trial([]() -> Status { throw std::bad_alloc(); }, "x").ok());
}

TEST(TrialProcess, PassesErrorsOn) {
  Error error = invalid_argument("what was found");
  error.code = ErrorCode::unsupported;
  const Status status = survive_trial([&] { return Status(error); }, "x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::unsupported);
  EXPECT_EQ(status.error().message, "what was found");
}

TEST(TrialProcess, EndsWhatDoesNotEnd) {
  const auto sleep = [] { return std::this_thread::sleep_for(std::chrono::hours(1)), Status(); };
  const Status slow = survive_trial(sleep, "x", {.time = std::chrono::milliseconds(100)});
  ASSERT_FALSE(slow.ok());
  EXPECT_NE(slow.error().text().find("100 ms"), std::string::npos);
}

TEST(TrialProcess, WorksWhereChildrenAreNotWaitedFor) {
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &ignored, &before), 0);
  EXPECT_TRUE(survive_trial([] { return Status(); }, "x").ok());
  EXPECT_FALSE(survive_trial([] { return ::raise(SIGABRT), Status(); }, "x").ok());
  ::sigaction(SIGCHLD, &before, nullptr);
}

}  // namespace
}  // namespace weir::storage

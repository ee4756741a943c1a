#include "storage/formats/trial_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
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

// A child that reads large blocks of the program's memory is tried without them, and then with
// them; what the program has there stays.
TEST(TrialProcess, KeepsLargeMemoryBackWhereItIsNotNeeded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "nothing is kept back under sanitizers";
#endif
  constexpr std::size_t bytes = 4 << 20;
  const auto mapped = [](std::size_t size, int flags) {
    return static_cast<char*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0));
  };
  constexpr std::size_t page = 4096;
  auto* const all = mapped(bytes + 2 * page, MAP_PRIVATE);
  auto* const children = mapped(4096, MAP_SHARED);
  ASSERT_NE(all, MAP_FAILED);
  // Other pages around it, so that it is no part of a mapping that a thread needs.
  ASSERT_EQ(::mprotect(all, page, PROT_READ), 0);
  ASSERT_EQ(::mprotect(all + page + bytes, page, PROT_READ), 0);
  auto* const block = all + page;
  ASSERT_NE(children, MAP_FAILED);
  block[bytes / 2] = 7;
  EXPECT_TRUE(survive_trial([&] { return ++children[0], Status(); }, "x").ok());
  EXPECT_EQ(children[0], 1);
  const auto needs_it = [&] {
    ++children[0];
    return block[bytes / 2] == 7 ? Status() : Status(invalid_argument("it is gone"));
  };
  EXPECT_TRUE(survive_trial(needs_it, "x").ok());
  EXPECT_EQ(children[0], 3);
  EXPECT_EQ(block[bytes / 2], 7);
  // What the program keeps from its children itself it keeps from them for ever.
  ASSERT_EQ(::madvise(block, bytes, MADV_DONTFORK), 0);
  EXPECT_FALSE(survive_trial(needs_it, "x").ok());
  EXPECT_FALSE(survive_trial(needs_it, "x").ok());
  EXPECT_EQ(block[bytes / 2], 7);
  ::munmap(all, bytes + 2 * page);
  ::munmap(children, 4096);
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

#include "ranks/bell.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "common/clock.hpp"

namespace weir::ranks {
namespace {

constexpr long moment_ns = 1'000'000;
constexpr long long_ns = 900'000'000;

TEST(Bell, SleepsNoLongerThanAsked) {
  Bell bell;
  bell.sleep(bell.count(), moment_ns);
  EXPECT_EQ(bell.count(), 0U);
}

// Only what is between counting and sleeping keeps it awake: otherwise this would take minutes.
TEST(Bell, DoesNotMissWhatRangBeforeItSlept) {
  Bell bell;
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t heard = bell.count();
    bell.ring();
    bell.sleep(heard, long_ns);
    EXPECT_EQ(bell.count(), heard + 1);
  }
}

// Two processes wake each other in turn; a ring that is missed would cost either a long sleep.
TEST(Bell, WakesAnotherProcess) {
  struct Pair {
    Bell ours;
    Bell theirs;
  };
  void* const memory =
      mmap(nullptr, sizeof(Pair), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const pair = new (memory) Pair;
  constexpr std::uint32_t turns = 2000;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      while (pair->theirs.count() == turn) pair->theirs.sleep(turn, long_ns);
      pair->ours.ring();
    }
    _exit(0);
  }
  const std::int64_t began = monotonic_ns();
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    pair->theirs.ring();
    while (pair->ours.count() == turn) pair->ours.sleep(turn, long_ns);
    ASSERT_LT(seconds_of(monotonic_ns() - began), 60) << turn;
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pair->ours.count(), turns);
  munmap(memory, sizeof(Pair));
}

}  // namespace
}  // namespace weir::ranks

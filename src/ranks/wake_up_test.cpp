#include "ranks/wake_up.hpp"

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

TEST(WakeUp, SleepsNoLongerThanAsked) {
  WakeUp wake_up;
  wake_up.sleep(wake_up.count(), moment_ns, /*ranks_per_core=*/1);
  EXPECT_EQ(wake_up.count(), 0U);
}

// Only what is between counting and sleeping keeps it awake: otherwise this would take minutes.
TEST(WakeUp, MissesNoNotificationBeforeItSleeps) {
  WakeUp wake_up;
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t seen = wake_up.count();
    wake_up.notify();
    wake_up.sleep(seen, long_ns, /*ranks_per_core=*/2);
    EXPECT_EQ(wake_up.count(), seen + 1);
  }
}

// Two processes wake each other in turn; a notification that is missed would cost either a long
// sleep. They sleep at once, or poll first, as ranks on cores of their own do.
class WakeUpOfAnother : public testing::TestWithParam<std::int64_t> {};

TEST_P(WakeUpOfAnother, IsNotMissed) {
  const std::int64_t ranks_per_core = GetParam();
  struct Pair {
    WakeUp ours;
    WakeUp theirs;
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
      while (pair->theirs.count() == turn) pair->theirs.sleep(turn, long_ns, ranks_per_core);
      pair->ours.notify();
    }
    _exit(0);
  }
  const std::int64_t began = monotonic_ns();
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    pair->theirs.notify();
    while (pair->ours.count() == turn) pair->ours.sleep(turn, long_ns, ranks_per_core);
    ASSERT_LT(seconds_of(monotonic_ns() - began), 60) << turn;
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(pair->ours.count(), turns);
  munmap(memory, sizeof(Pair));
}

INSTANTIATE_TEST_SUITE_P(RanksPerCore, WakeUpOfAnother, testing::Values(1, 2));

TEST(WakeUp, RanksThatShareACoreDoNotPoll) {
  const std::atomic<std::uint32_t> word{1};
  EXPECT_TRUE(changes_soon(word, 0, 1));
  EXPECT_FALSE(changes_soon(word, 1, 1));
  EXPECT_FALSE(changes_soon(word, 0, 2));
}

}  // namespace
}  // namespace weir::ranks

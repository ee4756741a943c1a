#include "stager/short_turns.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <thread>

namespace weir::stager {
namespace {

// Returns the length of this thread's turn by sched_getattr(), in ns. Before Linux 6.12 that is 0.
std::uint64_t turn_of_this_thread() {
  std::array<std::uint64_t, 6> attributes{};
  EXPECT_EQ(::syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0), 0);
  return attributes[3];
}

TEST(ShortTurns, AreAskedForAndKeepPolicyAndNiceness) {
  for (const int policy : {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE}) {
    std::thread([policy] {
      const sched_param none{};
      ASSERT_EQ(::sched_setscheduler(0, policy, &none), 0);
      ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, 7), 0);
      const std::uint64_t before = turn_of_this_thread();
      ask_for_short_turns();
      const bool is_short = policy == SCHED_OTHER && before > 0;
      EXPECT_EQ(turn_of_this_thread(), is_short ? 100'000 : before);
      EXPECT_EQ(::sched_getscheduler(0), policy);
      EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 7);
    }).join();
  }
}

}  // namespace
}  // namespace weir::stager

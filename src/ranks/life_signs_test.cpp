#include "ranks/life_signs.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "ranks/process.hpp"
#include "ranks/test_pause.hpp"
#include "ranks/waiting.hpp"

namespace weir::ranks {
namespace {

using What = LifeSigns::What;

constexpr double deadline_seconds = 0.4;

// Computes a quarter of the time, which leaves the processors to other tests. That is seen, since
// the kernel counts a process's time in hundredths of a second.
void compute_for_ever() {
  for (;; pause_for_milliseconds(15)) {
    const std::int64_t begin = monotonic_ns();
    while (monotonic_ns() - begin < 5'000'000) {
    }
  }
}

// This process is rank 10, at place 0 of a node; rank 11 is another one.
class LifeSignsTest : public testing::Test {
 public:
  LifeSignsTest(const LifeSignsTest&) = delete;
  LifeSignsTest& operator=(const LifeSignsTest&) = delete;

 protected:
  LifeSignsTest() = default;
  ~LifeSignsTest() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::munmap(memory_, bytes_);
  }

  // Rank 11 does this, and what follows in it is for ever.
  void let_other(const std::function<void(LifeSigns&)>& act) {
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      LifeSigns own(memory_, ranks_, 1, false, deadline_seconds);
      ::close(ready[1]);
      act(own);
      compute_for_ever();
    }
    // On a loaded machine the other process may be long in coming.
    ::close(ready[1]);
    char nothing = 0;
    EXPECT_EQ(::read(ready[0], &nothing, 1), 0);
    ::close(ready[0]);
    pause_for_milliseconds(20);
  }
  // Waits in vain, for at most so many seconds. Returns why the wait has ended; "" if it has not.
  std::string waited(double most_seconds) {
    Patience patience(deadline_seconds, &own_);
    const std::int64_t began = monotonic_ns();
    while (seconds_of(monotonic_ns() - began) < most_seconds) {
      pause_for_milliseconds(2);
      if (!patience.has_time()) return patience.passed("a test").message;
    }
    return "";
  }

  static std::byte* prepared(std::size_t bytes) {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    LifeSigns::prepare(static_cast<std::byte*>(memory), 2);
    return static_cast<std::byte*>(memory);
  }

  std::size_t bytes_ = static_cast<std::size_t>(LifeSigns::memory_bytes(2));
  std::byte* memory_ = prepared(bytes_);
  std::vector<int> ranks_{10, 11};
  LifeSigns own_{memory_, ranks_, 0, false, deadline_seconds};
  pid_t child_ = -1;
};

constexpr double several_deadlines = 4 * deadline_seconds;

TEST_F(LifeSignsTest, OneThatComputesIsWaitedFor) {
  let_other([](LifeSigns&) {});
  EXPECT_EQ(waited(several_deadlines), "");
}

TEST_F(LifeSignsTest, OneAtItsStorageIsWaitedFor) {
  let_other([](LifeSigns& own) {
    const LifeSigns::During call(&own, What::call);
    const LifeSigns::During waiting(&own, What::waiting);
    const LifeSigns::During storage(&own, What::storage);
    pause_for_milliseconds(100'000);
  });
  EXPECT_EQ(waited(several_deadlines), "");
}

TEST_F(LifeSignsTest, OneInACallThatDoesNotWaitIsWaitedFor) {
  let_other([](LifeSigns& own) {
    const LifeSigns::During call(&own, What::call);
    pause_for_milliseconds(100'000);
  });
  EXPECT_EQ(waited(several_deadlines), "");
}

TEST_F(LifeSignsTest, OneWhoseWaitsGetOnIsWaitedFor) {
  let_other([](LifeSigns& own) {
    Patience patience(deadline_seconds, &own);
    for (;;) {
      patience.reset();
      pause_for_milliseconds(10);
    }
  });
  EXPECT_EQ(waited(several_deadlines), "");
}

TEST_F(LifeSignsTest, TwoThatWaitForEachOtherEndAtTheDeadline) {
  let_other([](LifeSigns& own) {
    const LifeSigns::During call(&own, What::call);
    const LifeSigns::During waiting(&own, What::waiting);
    compute_for_ever();
  });
  const std::string text = waited(100);
  EXPECT_NE(text.find("all ranks wait for each other"), std::string::npos) << text;
}

TEST_F(LifeSignsTest, OneThatSleepsOutsideIsSilent) {
  let_other([](LifeSigns&) { pause_for_milliseconds(100'000); });
  const std::string text = waited(100);
  EXPECT_NE(text.find("rank 11 (process " + std::to_string(child_) + " on host "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("its process is idle"), std::string::npos) << text;
}

TEST_F(LifeSignsTest, OneThatIsStoppedIsSilentEvenAtItsStorage) {
  let_other([](LifeSigns& own) {
    const LifeSigns::During storage(&own, What::storage);
    compute_for_ever();
  });
  ASSERT_EQ(::kill(child_, SIGSTOP), 0);
  const std::string text = waited(100);
  EXPECT_NE(text.find("rank 11 (process "), std::string::npos) << text;
  EXPECT_NE(text.find("is stopped"), std::string::npos) << text;
}

TEST_F(LifeSignsTest, OneThatIsStoppedForLessThanTheDeadlineIsWaitedFor) {
  let_other([](LifeSigns&) {});
  for (int time = 0; time < 4; ++time) {
    ASSERT_EQ(::kill(child_, SIGSTOP), 0);
    EXPECT_EQ(waited(deadline_seconds / 4), "");
    ASSERT_EQ(::kill(child_, SIGCONT), 0);
    EXPECT_EQ(waited(deadline_seconds / 2), "");
  }
}

// All processes of a job are stopped, and go on after many deadlines: this one looks again while
// the other one still seems to be stopped, or both wait for each other.
TEST_F(LifeSignsTest, TimeInWhichNobodyLooksIsNoSilence) {
  let_other([](LifeSigns& own) {
    const LifeSigns::During call(&own, What::call);
    const LifeSigns::During waiting(&own, What::waiting);
    compute_for_ever();
  });
  for (const bool is_stopped : {false, true}) {
    if (is_stopped) {
      ASSERT_EQ(::kill(child_, SIGSTOP), 0);
    }
    Patience patience(deadline_seconds, &own_);
    // What is between two looks counts as a quarter of the deadline at most, so that these and the
    // last one stay below it however late they are.
    for (int look = 0; look < 3; ++look) {
      EXPECT_TRUE(patience.has_time());
      pause_for_milliseconds(static_cast<long>(deadline_seconds * 1000 / 16));
    }
    pause_for_milliseconds(static_cast<long>(several_deadlines * 1000));
    EXPECT_TRUE(patience.has_time()) << is_stopped;
  }
}

// Neither counts as long as the deadline: so much sooner than by it.
TEST_F(LifeSignsTest, OneThatHasEndedOrLeftEndsTheWaitSoon) {
  constexpr double long_deadline = 1e6;
  const auto why = [&](LifeSigns& own) {
    Patience patience(long_deadline, &own);
    while (patience.has_time()) pause_for_milliseconds(5);
    return patience.passed("a test").message;
  };
  let_other([](LifeSigns&) {});
  LifeSigns patient(memory_, ranks_, 0, false, long_deadline);
  ASSERT_EQ(::kill(child_, SIGKILL), 0);
  const std::string ended = why(patient);  // the child is a zombie
  EXPECT_NE(ended.find("rank 11 (process "), std::string::npos) << ended;
  EXPECT_NE(ended.find("has ended"), std::string::npos) << ended;

  LifeSigns::prepare(memory_, 2);
  LifeSigns again(memory_, ranks_, 0, false, long_deadline);
  LifeSigns(memory_, ranks_, 1, false, long_deadline).leave();
  const std::string left = why(again);
  EXPECT_NE(left.find("rank 11 "), std::string::npos) << left;
  EXPECT_NE(left.find("has given the session up"), std::string::npos) << left;
}

TEST_F(LifeSignsTest, NothingIsWaitedForForEver) {
  constexpr double brief = 0.02;
  LifeSigns own(memory_, ranks_, 0, true, brief);
  own.watch_neighbours(true);
  const std::int64_t began = monotonic_ns();
  Patience patience(brief, &own);
  while (patience.has_time()) pause_for_milliseconds(1);
  EXPECT_GE(seconds_of(monotonic_ns() - began), LifeSigns::most_deadlines * brief);
}

// Half a deadline counts between two looks, however slowly the test runs.
TEST_F(LifeSignsTest, OtherNodesThatNobodyWatchesAreWaitedForLess) {
  constexpr double brief = 1.0 / 64;
  const auto deadlines_waited = [&](LifeSigns& own) {
    Patience patience(brief, &own);
    double deadlines = 0;
    for (; patience.has_time(); deadlines += 0.5) pause_for_milliseconds(10);
    EXPECT_NE(patience.passed("a test").message.find("another node"), std::string::npos);
    return deadlines;
  };
  const std::vector<int> alone{10};  // on its node
  LifeSigns own(memory_, alone, 0, true, brief);
  EXPECT_EQ(deadlines_waited(own), LifeSigns::most_unseen_deadlines);
  own.watch_neighbours(true);
  EXPECT_EQ(deadlines_waited(own), LifeSigns::most_deadlines);
  own.watch_neighbours(false);
  EXPECT_EQ(deadlines_waited(own), LifeSigns::most_unseen_deadlines);
}

TEST(Process, IsSeen) {
  const Process own = look_at_process(::getpid());
  EXPECT_EQ(own.state, ProcessState::busy);
  EXPECT_GT(own.started, 0U);
  EXPECT_EQ(look_at_process(::getpid()).started, own.started);
  EXPECT_EQ(look_at_process(1 << 30).state, ProcessState::ended);
  EXPECT_NE(own_pid_namespace(), 0U);
}

}  // namespace
}  // namespace weir::ranks

#include "ranks/neighbour_links.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <new>

#include "common/clock.hpp"
#include "ranks/test_pause.hpp"

namespace weir::ranks {
namespace {

constexpr double link_patience_seconds = 0.4;

// The processes tell each other this, in memory that they share.
struct Told {
  NeighbourLinks::Address parent;
  NeighbourLinks::Address child;
  std::atomic<int> step{0};
};

// This process and a child of it are a ring of two.
class NeighbourLinksTest : public testing::Test {
 public:
  NeighbourLinksTest(const NeighbourLinksTest&) = delete;
  NeighbourLinksTest& operator=(const NeighbourLinksTest&) = delete;

 protected:
  NeighbourLinksTest() = default;
  ~NeighbourLinksTest() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::munmap(told_, sizeof(Told));
  }

  void wait_for_step(int step) const {
    while (told_->step.load() < step) pause_for_milliseconds(1);
  }
  static void settle(NeighbourLinks& links) {
    while (!links.is_settled()) {
      ASSERT_FALSE(links.look(monotonic_ns()));
      pause_for_milliseconds(1);
    }
  }
  // The child does this once the connections are made, and then nothing.
  void let_child(const std::function<void(NeighbourLinks&)>& act) {
    told_->parent = own_.address();
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      NeighbourLinks links(link_patience_seconds);
      told_->child = links.address();
      told_->step = 1;
      links.connect(told_->parent, told_->parent);
      settle(links);
      told_->step = 2;
      wait_for_step(3);
      act(links);
      for (;;) ::pause();
    }
    wait_for_step(1);
    own_.connect(told_->child, told_->child);
    settle(own_);
    wait_for_step(2);
    EXPECT_FALSE(own_.look(monotonic_ns()));
    told_->step = 3;
  }
  // Returns what is seen within some deadlines, or within so many seconds.
  [[nodiscard]] std::string loss(double seconds = 4 * link_patience_seconds) {
    const std::int64_t begin = monotonic_ns();
    while (seconds_of(monotonic_ns() - begin) < seconds) {
      if (const auto lost = own_.look(monotonic_ns())) return lost->text;
      pause_for_milliseconds(5);
    }
    return "";
  }
  [[nodiscard]] std::string child_named() const {
    return "(process " + std::to_string(child_) + " on host ";
  }

  Told* told_ =
      new (::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Told;
  NeighbourLinks own_{link_patience_seconds};
  pid_t child_ = -1;
};

TEST_F(NeighbourLinksTest, AnEndedNeighbourIsNamed) {
  let_child([](NeighbourLinks&) { ::raise(SIGKILL); });
  const std::string text = loss();
  EXPECT_EQ(text.rfind(child_named(), 0), 0U) << text;
  EXPECT_NE(text.find("has ended"), std::string::npos) << text;
}

// The system of a stopped neighbour still answers for it.
TEST_F(NeighbourLinksTest, AStoppedNeighbourIsNamed) {
  let_child([](NeighbourLinks&) { ::raise(SIGSTOP); });
  const std::string text = loss();
  EXPECT_EQ(text.rfind(child_named(), 0), 0U) << text;
  EXPECT_NE(text.find("is stopped"), std::string::npos) << text;
}

TEST_F(NeighbourLinksTest, AStoppedNeighbourThatIsKilledHasEnded) {
  let_child([](NeighbourLinks&) { ::raise(SIGSTOP); });
  pause_for_milliseconds(100);  // signs of life have come that it does not take
  ASSERT_EQ(::kill(child_, SIGKILL), 0);
  const std::string text = loss();
  EXPECT_NE(text.find("has ended"), std::string::npos) << text;
}

// The neighbour makes no call of these links, nor of the system.
TEST_F(NeighbourLinksTest, ANeighbourThatComputesIsNotLost) {
  let_child([](NeighbourLinks&) {
    std::atomic<std::int64_t> count{0};
    for (;;) ++count;
  });
  EXPECT_EQ(loss(), "");
}

TEST_F(NeighbourLinksTest, ANeighbourThatIsStoppedForLessThanTheDeadlineIsNotLost) {
  let_child([](NeighbourLinks&) {});
  for (int time = 0; time < 4; ++time) {
    ASSERT_EQ(::kill(child_, SIGSTOP), 0);
    EXPECT_EQ(loss(link_patience_seconds / 4), "");
    ASSERT_EQ(::kill(child_, SIGCONT), 0);
    EXPECT_EQ(loss(link_patience_seconds / 2), "");
  }
}

TEST_F(NeighbourLinksTest, ANeighbourThatLeavesInGoodOrderIsNotLost) {
  let_child([](NeighbourLinks& links) {
    links.leave();
    ::raise(SIGKILL);
  });
  EXPECT_EQ(loss(), "");
}

// A process that is no neighbour connects first; what it sends is no secret.
TEST_F(NeighbourLinksTest, AStrangerIsSentAway) {
  ASSERT_NE(own_.address().port, 0U);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(own_.address().port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int stranger = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(stranger, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  ASSERT_EQ(::send(stranger, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
  let_child([](NeighbourLinks&) { ::raise(SIGKILL); });
  ::close(stranger);
  EXPECT_NE(loss().find("has ended"), std::string::npos);
}

// A neighbour without an address is not known, and that is no loss.
TEST_F(NeighbourLinksTest, ANeighbourThatCannotBeReachedIsNotWaitedFor) {
  NeighbourLinks::Address nowhere;
  own_.connect(nowhere, nowhere);
  EXPECT_TRUE(own_.is_settled());
  EXPECT_FALSE(own_.look(monotonic_ns()));
  NeighbourLinks::Address refusing = own_.address();
  {
    const NeighbourLinks other(link_patience_seconds);
    refusing = other.address();
  }
  NeighbourLinks third(link_patience_seconds);
  third.connect(refusing, nowhere);
  for (int look = 0; look < 1000 && !third.is_settled(); ++look) {
    EXPECT_FALSE(third.look(monotonic_ns()));
    pause_for_milliseconds(5);
  }
  EXPECT_TRUE(third.is_settled());
}

}  // namespace
}  // namespace weir::ranks

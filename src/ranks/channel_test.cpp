#include "ranks/channel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "common/status.hpp"

namespace weir::ranks {
namespace {

constexpr double patience_seconds = 60;
constexpr const char* what = "the other places";

// The places of one node, a thread each.
class Places {
 public:
  explicit Places(std::int64_t count, std::int64_t ranks_per_core = 2)
      : count_(count),
        ranks_per_core_(ranks_per_core),
        memory_(new (std::align_val_t{64})
                    std::byte[static_cast<std::size_t>(Channel::memory_bytes(count)) +
                              Revocation::memory_bytes]) {
    Channel::prepare(memory_.get());
    Revocation::prepare(revocation_memory());
  }
  void each(const std::function<void(Channel&, std::int64_t place)>& act) const {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(count_));
    for (std::int64_t place = 0; place < count_; ++place) {
      threads.emplace_back([&, place] {
        Revocation revocation(revocation_memory(), {}, MPI_COMM_NULL, static_cast<int>(place));
        Channel channel(memory_.get(),
                        {.own = place, .count = count_, .ranks_per_core = ranks_per_core_},
                        MPI_COMM_NULL, revocation);
        act(channel, place);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct Freed {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  // Behind the channel's.
  [[nodiscard]] std::byte* revocation_memory() const {
    return memory_.get() + Channel::memory_bytes(count_);
  }
  std::int64_t count_;
  std::int64_t ranks_per_core_;
  std::unique_ptr<std::byte, Freed> memory_;
};

// The number of ranks on each core decides: where it is above one, a wait sleeps at once.
class ChannelPlaces : public testing::TestWithParam<std::int64_t> {};

TEST_P(ChannelPlaces, SeeWhoFailedAndWhatDiffers) {
  Places(5, GetParam()).each([](Channel& channel, std::int64_t place) {
    for (std::int64_t turn = 0; turn < 300; ++turn) {
      const bool some_fail = turn % 3 == 1;
      const bool differs = turn % 3 == 2 && place == turn % 5;
      Channel::Round round(some_fail && place >= turn % 5 ? place : Channel::nobody);
      round.compare(0, turn);
      round.compare(6, differs ? turn + 1 : -turn);
      channel.start(round);
      ASSERT_TRUE(channel.wait(round, patience_seconds, what).ok());
      ASSERT_EQ(round.lowest_failed(), some_fail ? turn % 5 : Channel::nobody);
      ASSERT_TRUE(round.is_alike(0));
      ASSERT_TRUE(round.is_alike(3));
      ASSERT_EQ(round.is_alike(6), turn % 3 != 2);
      ASSERT_EQ(round.is_unanimous(), turn % 3 == 0);
      ASSERT_FALSE(round.is_asked());
    }
  });
}

TEST_P(ChannelPlaces, AddUpWhatTheyGive) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  Places(5, GetParam()).each([](Channel& channel, std::int64_t place) {
    for (std::int64_t turn = 0; turn < 100; ++turn) {
      Channel::Round balanced;
      Channel::Round given_by_one(turn % 2 == 0 ? Channel::nobody : place);
      Channel::Round beyond_63_bits;
      Channel::Round given_by_none;
      balanced.add(place == 4 ? -(turn * 6) : turn * place);
      if (place == turn % 5) given_by_one.add(-turn);
      beyond_63_bits.add(place == 0 ? most : place == 3 ? turn : 0);
      for (Channel::Round* const round :
           {&balanced, &given_by_one, &beyond_63_bits, &given_by_none}) {
        channel.start(*round);
        ASSERT_TRUE(channel.wait(*round, patience_seconds, what).ok());
        ASSERT_TRUE(round->is_alike(6));
      }
      ASSERT_EQ(balanced.sum(), 0);
      ASSERT_TRUE(balanced.is_unanimous());
      ASSERT_EQ(given_by_one.sum(), -turn);
      ASSERT_EQ(given_by_one.lowest_failed(), turn % 2 == 0 ? Channel::nobody : 0);
      // Modulo 2^64.
      ASSERT_EQ(static_cast<std::uint64_t>(beyond_63_bits.sum()),
                static_cast<std::uint64_t>(most) + static_cast<std::uint64_t>(turn));
      ASSERT_EQ(given_by_none.sum(), 0);
    }
  });
}

// These are more rounds than there are slots: some can begin only when others have ended.
TEST_P(ChannelPlaces, HaveManyRoundsUnderWay) {
  Places(3, GetParam()).each([](Channel& channel, std::int64_t place) {
    for (int again = 0; again < 20; ++again) {
      std::array<Channel::Round, 37> rounds;
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        const auto failing = static_cast<std::int64_t>(i % 3);
        rounds[i] = Channel::Round(place == failing ? place : Channel::nobody);
        channel.start(rounds[i]);
      }
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        ASSERT_TRUE(channel.wait(rounds[i], patience_seconds, what).ok());
        ASSERT_EQ(rounds[i].lowest_failed(), static_cast<std::int64_t>(i % 3));
      }
    }
  });
}

// Others are under way meanwhile; some of those that ask get no answer, since places differ.
TEST_P(ChannelPlaces, AreAnsweredByTheFirst) {
  Places(4, GetParam()).each([](Channel& channel, std::int64_t place) {
    for (int turn = 0; turn < 200; ++turn) {
      const bool differs = turn % 4 == 3;
      Channel::Round asking(Channel::nobody, true);
      asking.compare(0, differs ? place : 1);
      Channel::Round other(place == 2 ? place : Channel::nobody);
      channel.start(asking);
      channel.start(other);
      ASSERT_TRUE(channel.wait(asking, patience_seconds, what).ok());
      ASSERT_EQ(asking.is_asked(), !differs);
      if (asking.is_asked()) {
        const std::string told =
            std::string(static_cast<std::size_t>(turn) * 3000, 'x') + std::to_string(turn);
        std::string text = place == 0 ? told : "";
        ASSERT_TRUE(channel.answer(asking, text, patience_seconds, what).ok());
        ASSERT_EQ(text, told);
      }
      ASSERT_TRUE(channel.wait(other, patience_seconds, what).ok());
      ASSERT_EQ(other.lowest_failed(), 2);
    }
  });
}

// Places that make different calls, of which some ask: nobody answers, and all see it.
TEST_P(ChannelPlaces, SeeThatOnlySomeAsk) {
  Places(3, GetParam()).each([](Channel& channel, std::int64_t place) {
    for (std::int64_t turn = 0; turn < 30; ++turn) {
      const bool asks = place == turn % 3;
      const bool fails = turn % 2 == 0 && place == 1;
      Channel::Round round(fails ? place : Channel::nobody, asks);
      round.compare(0, asks ? 1 : 2);
      channel.start(round);
      ASSERT_TRUE(channel.wait(round, patience_seconds, what).ok());
      ASSERT_FALSE(round.is_asked());
      ASSERT_FALSE(round.is_alike(0));
      ASSERT_EQ(round.lowest_failed(), turn % 2 == 0 ? 1 : Channel::nobody);
      // The next one goes on as always.
      std::string text = place == 0 ? "told" : "";
      ASSERT_TRUE(channel.share(text, patience_seconds, what).ok());
      ASSERT_EQ(text, "told");
    }
  });
}

TEST_P(ChannelPlaces, TakeTextsOfAnyLength) {
  const std::array<std::size_t, 7> lengths{0, 1, 5000, 262143, 262144, 262145, 2000000};
  Places(4, GetParam()).each([&](Channel& channel, std::int64_t place) {
    for (int again = 0; again < 5; ++again) {
      for (const std::size_t length : lengths) {
        std::string told(length, static_cast<char>('a' + again));
        if (length > 0) told.back() = 'z';
        std::string text = place == 0 ? told : "what was here before";
        ASSERT_TRUE(channel.share(text, patience_seconds, what).ok());
        ASSERT_EQ(text.size(), length);
        ASSERT_TRUE(text == told) << "of " << length;
      }
    }
  });
}

TEST_P(ChannelPlaces, GiveUpAtTheDeadlineWhenOneIsMissing) {
  Places(3, GetParam()).each([](Channel& channel, std::int64_t place) {
    if (place == 1) return;
    Channel::Round round;
    channel.start(round);
    const Status waited = channel.wait(round, 0.05, what);
    ASSERT_FALSE(waited.ok());
    EXPECT_EQ(waited.error().code, ErrorCode::deadline);
    EXPECT_NE(waited.error().message.find(what), std::string::npos);
  });
}

// One place cannot go on: the others leave their waits with its error long before the deadline.
TEST_P(ChannelPlaces, LeaveTheirWaitsWhenOneRevokes) {
  Places(4, GetParam()).each([](Channel& channel, std::int64_t place) {
    Channel::Round first;
    channel.start(first);
    ASSERT_TRUE(channel.wait(first, patience_seconds, what).ok());
    if (place == 2) {
      Error error;
      error.code = ErrorCode::communication;
      error.message = "lost a message";
      channel.revocation().revoke(error);
      error.message = "comes later, and so does not count";
      channel.revocation().revoke(error);
    } else {
      Channel::Round second;
      channel.start(second);
      const Status waited = channel.wait(second, patience_seconds, what);
      ASSERT_FALSE(waited.ok());
      EXPECT_EQ(waited.error().code, ErrorCode::communication);
      EXPECT_EQ(waited.error().text(), "rank 2: lost a message");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(HowTheyWait, ChannelPlaces, testing::Values(1, 2), [](const auto& given) {
  return given.param > 1 ? "AsleepAtOnce" : "AwakeAtFirst";
});

TEST(Channel, OfOnePlaceNeedsNobody) {
  Places(1).each([](Channel& channel, std::int64_t) {
    Channel::Round round(Channel::nobody, true);
    channel.start(round);
    ASSERT_TRUE(channel.test(round));
    ASSERT_TRUE(round.is_asked());
    std::string text = "told";
    ASSERT_TRUE(channel.answer(round, text, patience_seconds, what).ok());
    EXPECT_EQ(text, "told");
  });
}

}  // namespace
}  // namespace weir::ranks

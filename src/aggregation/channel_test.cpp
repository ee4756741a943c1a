#include "aggregation/channel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "common/status.hpp"

namespace weir::aggregation {
namespace {

constexpr double patience_seconds = 60;
constexpr const char* what = "the other places";

// The places of one node, a thread each.
class Places {
 public:
  explicit Places(std::int64_t count, bool sleeps_at_once = true)
      : count_(count),
        sleeps_at_once_(sleeps_at_once),
        memory_(new (std::align_val_t{64})
                    std::byte[static_cast<std::size_t>(Channel::memory_bytes(count))]) {
    Channel::prepare(memory_.get());
  }
  void each(const std::function<void(Channel&, std::int64_t place)>& act) const {
    std::vector<std::thread> threads;
    for (std::int64_t place = 0; place < count_; ++place) {
      threads.emplace_back([&, place] {
        Channel channel(memory_.get(),
                        {.own = place, .count = count_, .sleeps_at_once = sleeps_at_once_},
                        MPI_COMM_NULL, MPI_COMM_NULL);
        act(channel, place);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct Freed {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  std::int64_t count_;
  bool sleeps_at_once_;
  std::unique_ptr<std::byte, Freed> memory_;
};

class ChannelPlaces : public testing::TestWithParam<bool> {};

TEST_P(ChannelPlaces, FindTheLeastOfEachNumber) {
  Places(5, GetParam()).each([](Channel& channel, std::int64_t place) {
    for (std::int64_t turn = 0; turn < 300; ++turn) {
      Channel::Round round;
      round.mine[0] = (place + turn) % 5 + turn;  // one of them has 0 + turn
      round.mine[1] = -place;
      round.mine[15] = turn * 1000 + place;
      channel.start(round);
      ASSERT_TRUE(channel.wait(round, patience_seconds, what).ok());
      ASSERT_EQ(round.least[0], turn);
      ASSERT_EQ(round.least[1], -4);
      ASSERT_EQ(round.least[15], turn * 1000);
    }
  });
}

// More than there are slots: some rounds can begin only when others have ended.
TEST_P(ChannelPlaces, HaveManyRoundsUnderWay) {
  Places(3, GetParam()).each([](Channel& channel, std::int64_t place) {
    for (int again = 0; again < 20; ++again) {
      std::array<Channel::Round, 37> rounds;
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        rounds[i].mine[0] = static_cast<std::int64_t>(i) * 10 + place;
        channel.start(rounds[i]);
      }
      for (std::size_t i = 0; i < rounds.size(); ++i) {
        ASSERT_TRUE(channel.wait(rounds[i], patience_seconds, what).ok());
        ASSERT_EQ(rounds[i].least[0], static_cast<std::int64_t>(i) * 10);
      }
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

INSTANTIATE_TEST_SUITE_P(HowTheyWait, ChannelPlaces, testing::Bool(), [](const auto& given) {
  return given.param ? "AsleepAtOnce" : "AwakeAtFirst";
});

TEST(Channel, OfOnePlaceNeedsNobody) {
  Places(1).each([](Channel& channel, std::int64_t) {
    Channel::Round round;
    round.mine[0] = 7;
    channel.start(round);
    ASSERT_TRUE(channel.test(round));
    EXPECT_EQ(round.least[0], 7);
    std::string text = "told";
    ASSERT_TRUE(channel.share(text, patience_seconds, what).ok());
    EXPECT_EQ(text, "told");
  });
}

}  // namespace
}  // namespace weir::aggregation

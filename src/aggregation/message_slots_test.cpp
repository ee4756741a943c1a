#include "aggregation/message_slots.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

constexpr std::int64_t ranks = 6;
constexpr std::int64_t slot_bytes = 64;
constexpr std::int64_t pieces = 3000;

// The ranks of a node as threads. Each piece has some of them as contributors, 8 bytes each, and is
// of one of several aggregators, which take their pieces in order.
struct Piece {
  std::int64_t aggregator = 0;
  std::int64_t place = 0;  // among those of the aggregator
  plan::NodeMessage message;
  std::array<std::byte, slot_bytes> taken{};  // by the aggregator
};

class Node {
 public:
  // Uses only `at_once` of the slots at a time.
  Node(std::int64_t slots, std::int64_t at_once, std::int64_t aggregators, unsigned seed)
      : at_once_(at_once),
        board_(static_cast<std::size_t>(MessageSlots::board_bytes(slots, ranks) + 64)),
        data_(static_cast<std::size_t>(slots * slot_bytes)),
        taken_(static_cast<std::size_t>(aggregators)) {
    void* begin = board_.data();
    std::size_t space = board_.size();
    aligned_ = static_cast<std::byte*>(std::align(64, board_.size() - 64, begin, space));
    MessageSlots::prepare(aligned_, slots, ranks);
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      at_.push_back(data_.data() + slot * slot_bytes);
    }
    std::mt19937 random(seed);
    std::vector<std::int64_t> count(static_cast<std::size_t>(aggregators));
    for (std::int64_t number = 0; number < pieces; ++number) {
      Piece piece;
      piece.aggregator = static_cast<std::int64_t>(random() % static_cast<unsigned>(aggregators));
      piece.place = count[static_cast<std::size_t>(piece.aggregator)]++;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        if (random() % 3 != 0) continue;
        piece.message.shares.push_back({rank, 8, piece.message.bytes});
        piece.message.bytes += 8;
      }
      if (piece.message.shares.empty()) piece.message = {0, 0, 8, {{0, 8, 0}}};
      piece.message.courier = piece.message.shares[random() % piece.message.shares.size()].rank;
      pieces_.push_back(piece);
    }
  }

  // Does for one rank what Exchange does; returns false if the rank got stuck.
  bool run(std::int64_t rank) {
    const MessageSlots slots(aligned_, at_, slot_bytes, rank, ranks);
    struct Message {
      MessageSlots::Slot* slot;
      std::size_t piece;
    };
    std::vector<Message> messages;
    int waits = 0;  // in a row
    const auto wait = [&] {
      // Beside other work a rank that yields for long would take the time that another one needs.
      if (++waits < 100) {
        ::sched_yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    };
    for (std::size_t number = 0; number < pieces_.size() || !messages.empty();) {
      if (stuck_ || seconds_of(monotonic_ns() - last_progress_ns_) > 20) {
        stuck_ = true;
        return false;
      }
      std::erase_if(messages,
                    [&](const Message& one) { return send(slots, *one.slot, one.piece); });
      while (number < pieces_.size() && pieces_[number].message.share_of(rank) == nullptr) {
        ++number;
      }
      if (number == pieces_.size()) {
        slots.come_to({1, MessageSlots::no_piece_left});
        wait();
        continue;
      }
      const Piece& piece = pieces_[number];
      slots.come_to({1, number});
      MessageSlots::Slot* const slot =
          slots.find({static_cast<std::int64_t>(number), piece.aggregator}, rank, at_once_,
                     [&] { return std::vector{piece.message}; });
      if (slot == nullptr) {
        wait();
        continue;
      }
      const auto mark =
          static_cast<std::uint64_t>(number) * ranks + static_cast<std::uint64_t>(rank);
      std::memcpy(slots.data(*slot) + MessageSlots::share_of(*slot, rank).offset, &mark, 8);
      if (MessageSlots::courier_of(*slot) == rank) {
        messages.push_back({slot, number});
        const std::int64_t carried = ++carried_;
        std::int64_t most = most_carried_;
        while (most < carried && !most_carried_.compare_exchange_weak(most, carried)) {
        }
      }
      MessageSlots::hand_over(*slot, 8);
      ++number;
      waits = 0;
      last_progress_ns_ = monotonic_ns();
    }
    return true;
  }

  // The most messages that were in slots at a time.
  [[nodiscard]] std::int64_t most_carried() const { return most_carried_; }
  // Checks that each rank's share of each piece has come as it was packed.
  [[nodiscard]] bool all_is_right() const {
    for (std::size_t number = 0; number < pieces_.size(); ++number) {
      for (const plan::NodeShare& share : pieces_[number].message.shares) {
        std::uint64_t mark = 0;
        std::memcpy(&mark, pieces_[number].taken.data() + share.offset, 8);
        if (mark != number * ranks + static_cast<std::uint64_t>(share.rank)) return false;
      }
    }
    return true;
  }

 private:
  bool send(const MessageSlots& slots, MessageSlots::Slot& slot, std::size_t number) {
    Piece& piece = pieces_[number];
    std::atomic<std::int64_t>& taken = taken_[static_cast<std::size_t>(piece.aggregator)];
    if (!MessageSlots::is_complete(slot) || taken.load() != piece.place) return false;
    std::memcpy(piece.taken.data(), slots.data(slot),
                static_cast<std::size_t>(MessageSlots::bytes_of(slot)));
    --carried_;
    MessageSlots::free(slot);
    ++taken;
    last_progress_ns_ = monotonic_ns();
    return true;
  }

  std::int64_t at_once_;
  std::vector<std::byte> board_;
  std::byte* aligned_ = nullptr;
  std::vector<std::byte> data_;
  std::vector<std::byte*> at_;
  std::vector<Piece> pieces_;
  std::vector<std::atomic<std::int64_t>> taken_;  // pieces, by aggregator
  std::atomic<std::int64_t> carried_{0};          // messages in slots
  std::atomic<std::int64_t> most_carried_{0};
  std::atomic<bool> stuck_{false};
  // Progress of any rank counts, because all of it may take long beside other work.
  std::atomic<std::int64_t> last_progress_ns_{monotonic_ns()};
};

// There are more aggregators than slots, and fewer; and slots that a request does not use.
TEST(MessageSlots, NeverLockUpHoweverFewThereAre) {
  for (const auto& [slots, at_once] :
       {std::pair{1, 1}, std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}}) {
    for (const std::int64_t aggregators : {1, 3, 7}) {
      SCOPED_TRACE(testing::Message()
                   << at_once << " of " << slots << " slots, " << aggregators << " aggregators");
      Node node(slots, at_once, aggregators, 7);
      std::atomic<int> ended{0};
      std::vector<std::thread> threads;
      threads.reserve(ranks);
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] { ended += node.run(rank) ? 1 : 0; });
      }
      for (std::thread& thread : threads) thread.join();
      ASSERT_EQ(ended, ranks) << "somebody waited for a slot that nobody could free";
      ASSERT_TRUE(node.all_is_right());
      EXPECT_LE(node.most_carried(), at_once);
    }
  }
}

// Ranks of which each has a piece of its own, the first one the earliest, and four slots.
class RanksWithPieces {
 public:
  RanksWithPieces() {
    void* begin = board_.data();
    std::size_t space = board_.size();
    aligned_ = static_cast<std::byte*>(std::align(64, board_.size() - 64, begin, space));
    MessageSlots::prepare(aligned_, slots, ranks);
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      at_.push_back(data_.data() + slot * slot_bytes);
    }
  }

  [[nodiscard]] MessageSlots of(std::int64_t rank) const {
    return {aligned_, at_, slot_bytes, rank, ranks};
  }
  void come(std::int64_t rank) const { of(rank).come_to({1, static_cast<std::uint64_t>(rank)}); }
  // Returns the slot that a rank finds or takes for its piece.
  [[nodiscard]] MessageSlots::Slot* ask(std::int64_t rank) const {
    return of(rank).find({rank, rank}, rank, slots, [&] {
      return std::vector{plan::NodeMessage{0, rank, 8, {{rank, 8, 0}}}};
    });
  }

 private:
  static constexpr std::int64_t slots = 4;

  std::vector<std::byte> board_ = std::vector<std::byte>(
      static_cast<std::size_t>(MessageSlots::board_bytes(slots, ranks) + 64));
  std::vector<std::byte> data_ = std::vector<std::byte>(slots * slot_bytes);
  std::byte* aligned_ = nullptr;
  std::vector<std::byte*> at_;
};

TEST(MessageSlots, AreLeftForEarlierPiecesThatHaveNone) {
  const RanksWithPieces node;
  for (std::int64_t rank = 0; rank < ranks; ++rank) node.come(rank);
  EXPECT_EQ(node.ask(5), nullptr);
  EXPECT_EQ(node.ask(4), nullptr);
  EXPECT_NE(node.ask(3), nullptr);
  EXPECT_EQ(node.ask(4), nullptr) << "three slots are free, for the pieces 0 to 2";
  MessageSlots::Slot* const first = node.ask(0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(node.ask(4), nullptr) << "two slots are free, for the pieces 1 and 2";
  MessageSlots::free(*first);
  node.of(0).come_to({1, MessageSlots::no_piece_left});
  EXPECT_NE(node.ask(4), nullptr) << "three slots are free, and the piece 3 has one";
}

TEST(MessageSlots, AreLeftForRanksThatHaveNotCome) {
  const RanksWithPieces node;
  node.come(5);
  EXPECT_EQ(node.ask(5), nullptr);
  node.of(0).come_to({0, MessageSlots::no_piece_left});
  EXPECT_EQ(node.ask(5), nullptr) << "rank 0 has ended an earlier request";
  node.of(0).come_to({1, MessageSlots::no_piece_left});
  node.come(4);
  EXPECT_EQ(node.ask(5), nullptr) << "three ranks have not come, and the piece 4 has no slot";
  EXPECT_NE(node.ask(4), nullptr);
  node.come(3);
  EXPECT_EQ(node.ask(5), nullptr) << "three slots are free, for two ranks and the piece 3";
  node.of(3).come_to({1, MessageSlots::no_piece_left});
  EXPECT_NE(node.ask(5), nullptr);
}

}  // namespace
}  // namespace weir::aggregation

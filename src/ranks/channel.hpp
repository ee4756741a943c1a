// How all ranks vote on a call, and how rank 0 tells all something: what every collective call
// begins and ends with.
//
// Inside a node it goes through memory that its ranks share; who waits sleeps there, so that many
// ranks on few cores do not keep each other from the processor by looking again and again. Only the
// first rank of each node, its leader, speaks to other nodes, by MPI.
//
//   every rank   writes its numbers to its place of a slot; counts itself as arrived
//   the last     combines those of the node: the result, when there is one node only
//   leader       else: reduces the node's with those of the other leaders
//   either       writes the result, then the number of the round, and wakes who sleeps
//
// A round may ask rank 0. When all ranks make the same call and none has failed, the result stays
// with the leaders until rank 0 has found the answer, and comes with its text: the others are woken
// once for both. A round that ends otherwise has no answer, and all ranks see why. In place of an
// answer each leader may do something in the node's memory, and release() the round then: the
// others of its node see it ended when that is done.
//
// Rounds take the slots in turn. A rank begins a round in a slot only when it has taken the result
// of the round that had it before, and a result is written when all have begun: so nothing is
// overwritten that somebody has yet to read. Rounds that find no slot begin when one is free.
//
// A text goes from rank 0 to the leaders by MPI, and from there part by part to the node: the next
// when all have taken the one before.
//
// All ranks make the same calls in the same order. A rank that waits keeps everything else moving
// (progress.hpp). Where MPI fails between leaders, the session is revoked (revocation.hpp), and all
// waits end with the reason.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>

#include "common/status.hpp"
#include "ranks/life_signs.hpp"
#include "ranks/messages.hpp"
#include "ranks/revocation.hpp"

namespace weir::ranks {

class Channel {
  // The lowest failed rank, then numbers and their complements, then the number that is added up.
  static constexpr std::size_t numbers = 16;
  static constexpr std::size_t sum_at = numbers - 1;
  using Numbers = std::array<std::int64_t, numbers>;

 public:
  // The lowest rank that failed, when none did.
  static constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t most_compared = 7;

  // One vote; lives until it has ended, or for good when the channel was given up meanwhile.
  class Round {
   public:
    // `failed`: this rank, if it cannot do what it was asked for, else nobody. `asks`: the same on
    // all ranks that make the same call.
    explicit Round(std::int64_t failed = nobody, bool asks = false);
    // A number that is to be the same on all ranks; `which` is below most_compared.
    void compare(std::size_t which, std::int64_t number);
    // This rank's part of sum(): 0 unless it is given.
    void add(std::int64_t number);

    [[nodiscard]] bool asks() const { return asks_; }

    // When ended.
    [[nodiscard]] std::int64_t lowest_failed() const { return voted_[0]; }
    [[nodiscard]] bool is_alike(std::size_t which) const;
    // What all ranks gave to add(), modulo 2^64.
    [[nodiscard]] std::int64_t sum() const { return voted_[sum_at]; }
    // Nobody failed, and all numbers are alike.
    [[nodiscard]] bool is_unanimous() const { return unanimous(voted_); }
    // Whether rank 0 is asked. If so, every rank calls answer() next, or every leader release().
    [[nodiscard]] bool is_asked() const { return asks_ && is_unanimous(); }

   private:
    friend class Channel;
    [[nodiscard]] static bool unanimous(const Numbers& voted);
    Numbers mine_{};
    // What all ranks gave, combined. The least of a number is the complement of the least of its
    // complement when all gave the same number.
    Numbers voted_{};
    bool asks_ = false;
    std::int64_t number_ = -1;
    bool between_nodes_ = false;  // the leaders reduce
    std::int64_t naps_ = 0;       // slept so often
  };

  // Where a rank stands among those that share the memory.
  struct Place {
    std::int64_t own = 0;
    std::int64_t count = 1;
    bool has_other_nodes = false;
    std::int64_t ranks_per_core = 1;  // of the node, rounded up; above 1, a wait sleeps at once
  };
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t places);
  // Once, by one rank, before the others make their channels.
  static void prepare(std::byte* memory);
  // `memory`: of memory_bytes(), at a multiple of 64. `leaders`: of all nodes, for this channel's
  // collective operations alone; null but on the ranks of place 0 where there are other nodes.
  // `revocation`: of the session. None of them is owned.
  Channel(std::byte* memory, const Place& place, MPI_Comm leaders, Revocation& revocation);
  // By MPI alone: every rank is a node. Nothing else is under way on the communicator meanwhile.
  explicit Channel(MPI_Comm communicator);
  // From now on waits end when a process is silent (life_signs.hpp).
  void watch(LifeSigns* life) { life_ = life; }
  [[nodiscard]] LifeSigns* life() const { return life_; }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  // Several rounds may be under way.
  void start(Round& round);
  // True when it has ended. Rounds are tested in the order in which they were started.
  [[nodiscard]] bool test(Round& round);
  // After test() was false: sleeps until it is worth another look, for some milliseconds at most,
  // and keeps everything else moving.
  void nap(Round& round);
  // Tests and naps until the round has ended.
  [[nodiscard]] Status wait(Round& round, double deadline_seconds, const char* what);

  // Gives rank 0's text to all ranks, after a round that asked for it has ended.
  [[nodiscard]] Status answer(const Round& round, std::string& text, double deadline_seconds,
                              const char* what);
  // By a leader, in place of the answer.
  void release(const Round& round) { publish(round, round.voted_); }
  // Rank 0's text to all ranks. No round is under way.
  [[nodiscard]] Status share(std::string& text, double deadline_seconds, const char* what);

  // After a missed deadline: what MPI may still write to stays for good.
  void abandon();
  // What ends all waits of the session: its ranks look at it where they wait by test().
  [[nodiscard]] Revocation& revocation() const { return *revocation_; }

 private:
  struct Slot;
  struct Text;
  struct Memory;
  struct Between;  // what a leader sends and receives
  // `both`, which some ranks gave, becomes what these and other ranks gave, which is `more`: the
  // sum of the number that is added up, the least of each other one.
  static void combine(const Numbers& more, Numbers& both);
  [[nodiscard]] bool is_first() const { return place_.own == 0; }
  [[nodiscard]] Slot& slot_of(const Round& round) const;
  // The first of the numbers that each place gave, in the round's slot.
  [[nodiscard]] Numbers* given_in(const Round& round) const;
  void arrive(Round& round);
  // By the first place; each is true when the round has ended.
  bool test_of_first(Round& round);
  bool reduce_between_nodes(Round& round);
  void publish(const Round& round, const Numbers& voted);
  // Sleeps for a moment, unless the word has changed from `value`.
  void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value,
                   std::atomic<std::uint32_t>& sleepers, std::int64_t naps_before) const;
  // Until the word is `wanted`, which it reaches from below.
  [[nodiscard]] Status wait_until(std::atomic<std::uint32_t>& word, std::uint32_t wanted,
                                  std::atomic<std::uint32_t>& sleepers, double deadline_seconds,
                                  const char* what) const;
  // `asked`: the round that ends with this, or null.
  [[nodiscard]] Status share(std::string& text, const Round* asked, double deadline_seconds,
                             const char* what);
  [[nodiscard]] Status share_between_nodes(std::string& text, double deadline_seconds,
                                           const char* what);
  // The part of the text that begins at `at`, to and from the ranks of the node.
  [[nodiscard]] Status tell_part(const std::string& text, std::size_t at, double deadline_seconds,
                                 const char* what);
  [[nodiscard]] Status take_part(std::string& text, std::size_t at, double deadline_seconds,
                                 const char* what);

  struct Freed {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Freed> own_memory_;
  Memory* memory_ = nullptr;
  Place place_;
  LifeSigns* life_ = nullptr;
  MPI_Comm leaders_ = MPI_COMM_NULL;
  std::unique_ptr<Revocation> own_revocation_;
  Revocation* revocation_ = nullptr;
  std::unique_ptr<Between> between_;
  std::int64_t started_ = 0;
  std::int64_t ended_ = 0;
  std::deque<Round*> without_slot_;
  std::uint32_t parts_ = 0;  // of texts, so far
};

}  // namespace weir::ranks

// Lets all ranks vote on a call, and rank 0 send a text to all ranks. Every collective call
// begins and ends with such a vote, or has a single one.
//
// Inside a node, votes go through memory that the node's ranks share. A waiting rank sleeps there,
// so that many ranks on few cores do not take the processor from each other by polling. Only the
// first rank of each node, its leader, communicates with other nodes, through MPI:
//
//   every rank   writes its numbers to its place of a slot and counts itself as arrived
//   last rank    that arrives on a node combines the numbers of the node; with only one node, this
//                is the result
//   leader       with several nodes, reduces the node's numbers with those of the other leaders
//   either       writes the result, then the number of the round, and wakes the sleeping ranks
//
// A round may ask rank 0 for an answer. If all ranks make the same call and no rank has failed, the
// leaders keep the result until rank 0 has found the answer, and pass on both together, so that the
// other ranks are woken only once. A round that ends otherwise has no answer, and all ranks see
// why. Instead of an answer, each leader may do something in the node's memory and then release()
// the round: the other ranks of its node see the round end when that is done.
//
// Rounds take the slots in turn. A rank begins a round in a slot only after it has taken the result
// of the slot's previous round, and a result is written only after all ranks have begun the round.
// Therefore nothing is overwritten that a rank has yet to read. Rounds that find no free slot begin
// when a slot becomes free.
//
// A text goes from rank 0 to the leaders through MPI, and from each leader to its node part by
// part: the next part follows when all ranks have taken the previous one.
//
// All ranks make the same calls in the same order. A rank that waits keeps everything else moving
// (progress.hpp). If MPI fails between leaders, the session is revoked (revocation.hpp), and all
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
  // A vote consists of the lowest failed rank, then numbers and their complements, then the number
  // that is summed.
  static constexpr std::size_t numbers = 16;
  static constexpr std::size_t sum_at = numbers - 1;
  using Numbers = std::array<std::int64_t, numbers>;

 public:
  // Value of the lowest failed rank if no rank failed.
  static constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t most_compared = 7;

  // One vote. A Round must live until the vote has ended, and is never freed if the channel was
  // abandoned before.
  class Round {
   public:
    // `failed`: this rank if it cannot do what was requested, else `nobody`. `asks`: whether the
    // round asks rank 0 for an answer; it is equal on all ranks that make the same call.
    explicit Round(std::int64_t failed = nobody, bool asks = false);
    // Adds a number that must be equal on all ranks; `which` is below most_compared.
    void compare(std::size_t which, std::int64_t number);
    // Sets this rank's contribution to sum(); the default is 0.
    void add(std::int64_t number);

    [[nodiscard]] bool asks() const { return asks_; }

    // The following functions are valid after the round has ended.
    [[nodiscard]] std::int64_t lowest_failed() const { return voted_[0]; }
    [[nodiscard]] bool is_alike(std::size_t which) const;
    // Returns the sum of the contributions of all ranks, modulo 2^64.
    [[nodiscard]] std::int64_t sum() const { return voted_[sum_at]; }
    // Returns true if no rank failed and all compared numbers are equal.
    [[nodiscard]] bool is_unanimous() const { return unanimous(voted_); }
    // Returns true if rank 0 is asked. If so, every rank calls answer() next, or every leader calls
    // release().
    [[nodiscard]] bool is_asked() const { return asks_ && is_unanimous(); }

   private:
    friend class Channel;
    [[nodiscard]] static bool unanimous(const Numbers& voted);
    Numbers mine_{};
    // The combined numbers of all ranks. The minimum of a number is the complement of the minimum
    // of its complement exactly if all ranks gave the same number.
    Numbers voted_{};
    bool asks_ = false;
    std::int64_t number_ = -1;
    bool between_nodes_ = false;  // the leaders have begun to reduce
    std::int64_t naps_ = 0;       // number of times that this rank has slept
  };

  // The position of a rank among the ranks that share the memory.
  struct Place {
    std::int64_t own = 0;
    std::int64_t count = 1;
    bool has_other_nodes = false;
    std::int64_t ranks_per_core = 1;  // of the node, rounded up; above 1, a wait sleeps at once
  };
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t places);
  // Called once, by one rank, before the others create their channels.
  static void prepare(std::byte* memory);
  // `memory`: memory_bytes() bytes, aligned to 64. `leaders`: a communicator of the leaders of all
  // nodes, used only for this channel's collective operations; null except on the ranks at place 0
  // of a job with several nodes. `revocation`: the session's revocation. The channel owns none of
  // them.
  Channel(std::byte* memory, const Place& place, MPI_Comm leaders, Revocation& revocation);
  // Uses MPI alone: every rank counts as a node. No other operation is under way on the
  // communicator while the channel exists.
  explicit Channel(MPI_Comm communicator);
  // After this call, waits end when a process is silent (life_signs.hpp).
  void watch(LifeSigns* life) { life_ = life; }
  [[nodiscard]] LifeSigns* life() const { return life_; }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  // Begins a round. Several rounds may be under way.
  void start(Round& round);
  // Returns true if the round has ended. Rounds are tested in the order in which they were started.
  [[nodiscard]] bool test(Round& round);
  // Called after test() returned false: sleeps until it is worth testing again, for a few
  // milliseconds at most, and keeps everything else moving.
  void nap(Round& round);
  // Tests the round and sleeps until it has ended.
  [[nodiscard]] Status wait(Round& round, double deadline_seconds, const char* what);

  // Sends rank 0's text to all ranks, after a round that asked for it has ended.
  [[nodiscard]] Status answer(const Round& round, std::string& text, double deadline_seconds,
                              const char* what);
  // Ends the round for the other ranks of the node; called by a leader instead of answer().
  void release(const Round& round) { publish(round, round.voted_); }
  // Sends rank 0's text to all ranks. No round is under way.
  [[nodiscard]] Status share(std::string& text, double deadline_seconds, const char* what);

  // Called after a missed deadline: keeps the memory to which MPI may still write, and never frees
  // it.
  void abandon();
  // Returns the revocation that ends all waits of the session. Ranks check it where they wait by
  // calling test().
  [[nodiscard]] Revocation& revocation() const { return *revocation_; }

 private:
  struct Slot;
  struct Text;
  struct Memory;
  struct Between;  // what a leader sends and receives
  // Combines `more` into `both`: adds the numbers that are summed, and takes the minimum of each
  // other number.
  static void combine(const Numbers& more, Numbers& both);
  [[nodiscard]] bool is_first() const { return place_.own == 0; }
  [[nodiscard]] Slot& slot_of(const Round& round) const;
  // Returns the numbers of the first place in the round's slot; those of the other places follow.
  [[nodiscard]] Numbers* given_in(const Round& round) const;
  void arrive(Round& round);
  // The next two functions are called at the first place. They return true if the round has ended.
  bool test_of_first(Round& round);
  bool reduce_between_nodes(Round& round);
  void publish(const Round& round, const Numbers& voted);
  // Sleeps briefly, unless the word differs from `value`.
  void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value,
                   std::atomic<std::uint32_t>& sleepers, std::int64_t naps_before) const;
  // Waits until the word equals `wanted`, which it reaches from below.
  [[nodiscard]] Status wait_until(std::atomic<std::uint32_t>& word, std::uint32_t wanted,
                                  std::atomic<std::uint32_t>& sleepers, double deadline_seconds,
                                  const char* what) const;
  // `asked`: the round that ends with this text, or null.
  [[nodiscard]] Status share(std::string& text, const Round* asked, double deadline_seconds,
                             const char* what);
  [[nodiscard]] Status share_between_nodes(std::string& text, double deadline_seconds,
                                           const char* what);
  // Send and receive the part of the text that begins at `at`, from the leader to the ranks of its
  // node.
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
  std::uint32_t parts_ = 0;  // parts of texts so far
};

}  // namespace weir::ranks

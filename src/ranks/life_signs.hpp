// Whether waiting for the other ranks makes sense: a deadline is for a process that is silent, not
// for one whose storage is slow or that computes for a long time.
//
// Each rank of a node has a sign in the memory that the node shares: its process, whether it is in
// a call of the library, at its storage, waiting for others, and how often its waits got on. Now
// and then one of those that wait looks at all signs and processes of the node, and writes what it
// found there, for all:
//
//   process                              means
//   has ended, or has given up           the wait ends with an error at the second such look
//   stopped                              silence; an error when it lasts for the deadline
//   in a call and not waiting, or at     hope: no deadline counts, however long it takes
//   its storage
//   waiting, and got on since            hope
//   waiting                              none: if all wait, they wait for each other
//   outside of calls, and used the       hope: the program computes
//   processor or waits for a device
//   outside of calls, and neither        silence
//   cannot be seen (another namespace)   hope
//
// A rank waits until `deadline` seconds have passed without hope. What processes of other nodes do
// cannot be seen from here, and counts as hope: an ended or stopped one is noticed by the waiting
// ranks of its own node, whose error then ends the waits of all (revocation.hpp), and a leader that
// has ended or is stopped by the leaders of the neighbouring nodes too (neighbour_links.hpp).
// Nothing waits for ever: with hope, too, a wait in which nothing moves ends after most_deadlines
// deadlines. Where the leader of this node is not connected to both neighbours, a node that is lost
// cannot be told from one that computes. Other nodes are no hope then, and this node waits without
// any for most_unseen_deadlines deadlines. Other nodes need not know: each lost node has
// neighbours.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::ranks {

class LifeSigns {
 public:
  // How many deadlines a rank waits at most for processes that may still come.
  static constexpr double most_deadlines = 24;
  // How many of them at most for other nodes, while a neighbour is not watched.
  static constexpr double most_unseen_deadlines = 4;

  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t places);
  // Called once, by one rank, before the others make theirs.
  static void prepare(std::byte* memory, std::int64_t places);
  // `memory`: of memory_bytes(), at a multiple of 64. `ranks`: in the session, of each place of the
  // node, for errors.
  LifeSigns(std::byte* memory, std::span<const int> ranks, std::int64_t own_place,
            bool has_other_nodes, double deadline_seconds);
  LifeSigns(const LifeSigns&) = delete;
  LifeSigns& operator=(const LifeSigns&) = delete;
  ~LifeSigns() = default;

  // This rank makes no further call of the session: others need not wait for it.
  void leave();
  // By the leader of the node: whether it is connected to the leaders of both neighbouring nodes.
  // Until it says so, they are not watched.
  void watch_neighbours(bool watched);

  // As long as one of these lives, this rank is in a call, at its storage, or waits. Null: nothing
  // is noted.
  enum class What : std::uint8_t { call, storage, waiting };
  class During {
   public:
    During(LifeSigns* signs, What what);
    During(const During&) = delete;
    During& operator=(const During&) = delete;
    ~During();

   private:
    std::atomic<std::uint32_t>* count_;
  };
  // What this rank waited for got on.
  void got_on();

  // By a rank that waits, as often as it likes: looks when nobody has looked for a while. False: a
  // process is silent or has ended, and waiting is in vain.
  [[nodiscard]] bool look(std::int64_t now_ns);
  // When a look last found hope; 0 never.
  [[nodiscard]] std::int64_t hope_ns() const;
  // How many deadlines a rank waits without hope.
  [[nodiscard]] double deadlines_without_hope() const;
  [[nodiscard]] std::int64_t interval_ns() const { return interval_ns_; }
  // By a rank that gives up: what keeps those that wait, as a clause, the same on all ranks of the
  // node: "rank 3 (process 17 on host n5) has ended". Their waits are in vain from then on.
  [[nodiscard]] std::string suspicion();

 private:
  struct Sign;
  struct Board;
  enum class Sight : std::uint32_t { hope, waits, ended, left, stopped, idle };
  [[nodiscard]] Sign& sign(std::int64_t place) const;
  [[nodiscard]] Sight see(std::int64_t place) const;
  // Whether there are other nodes, and the neighbours among them are watched.
  [[nodiscard]] bool others_are_watched() const;
  void look_at_all(std::int64_t now_ns, std::int64_t since_last_ns);
  // Waiting for the place is in vain, unless another one was named before.
  void judge(std::int64_t place, Sight sight);

  Board* board_ = nullptr;
  std::vector<int> ranks_;
  std::int64_t own_place_;
  bool has_other_nodes_;
  std::int64_t deadline_ns_;
  std::int64_t interval_ns_;
  std::uint64_t pid_namespace_ = 0;
};

}  // namespace weir::ranks

// Decides whether it makes sense to wait for the other ranks. A deadline is meant for a process
// that is silent, not for one whose storage is slow or that computes for a long time.
//
// Each rank of a node has a sign in the memory that the node shares. It shows the rank's process,
// whether the rank is in a call of the library, accesses its storage or waits for others, and how
// often its waits made progress. Now and then one of the waiting ranks examines all signs and
// processes of the node, and writes the outcome there for all ranks:
//
//   state of a process                   consequence
//   has ended, or has given up           the wait ends with an error when this is seen twice
//   stopped                              silence; an error if it lasts for the deadline
//   in a call and not waiting, or        hope: no deadline counts, however long it takes
//   accessing its storage
//   waiting, with progress since         hope
//   waiting, without progress            no hope: if all ranks wait, they wait for each other
//   outside of calls, and used the       hope: the program computes
//   processor or waits for a device
//   outside of calls, and neither        silence
//   invisible (another namespace)        hope
//
// A rank waits until `deadline` seconds have passed without hope. The state of processes on other
// nodes is invisible here, and counts as hope. An ended or stopped process is noticed by the
// waiting ranks of its own node, whose error then ends the waits of all ranks (revocation.hpp). A
// leader that has ended or is stopped is also noticed by the leaders of the neighbouring nodes
// (neighbour_links.hpp). No wait lasts indefinitely: even with hope, a wait without progress ends
// after most_deadlines deadlines. If the leader of this node is not connected to both neighbours, a
// lost node cannot be distinguished from one that computes. Other nodes then give no hope, and this
// node waits without hope for most_unseen_deadlines deadlines. The other nodes need not know of
// this, since each lost node has neighbours.
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
  // Largest number of deadlines for which a rank waits for processes that may still come.
  static constexpr double most_deadlines = 24;
  // Largest number of deadlines for which a rank waits for other nodes while a neighbour is not
  // watched.
  static constexpr double most_unseen_deadlines = 4;

  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t places);
  // Called once, by one rank, before the others create their objects.
  static void prepare(std::byte* memory, std::int64_t places);
  // `memory`: memory_bytes() bytes, aligned to 64. `ranks`: the rank in the session at each place
  // of the node, for error messages.
  LifeSigns(std::byte* memory, std::span<const int> ranks, std::int64_t own_place,
            bool has_other_nodes, double deadline_seconds);
  LifeSigns(const LifeSigns&) = delete;
  LifeSigns& operator=(const LifeSigns&) = delete;
  ~LifeSigns() = default;

  // Declares that this rank makes no further call in the session, so that others need not wait for
  // it.
  void leave();
  // Called by the leader of the node: says whether it is connected to the leaders of both
  // neighbouring nodes. Until then, the neighbours are not watched.
  void watch_neighbours(bool watched);

  // While a During object lives, this rank is in a call, accesses its storage, or waits. If `signs`
  // is null, nothing is recorded.
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
  // Records that a wait of this rank made progress.
  void got_on();

  // Called by a waiting rank, as often as it likes. Examines all signs if no rank has done so for a
  // while. Returns false if a process is silent or has ended, so that waiting is in vain.
  [[nodiscard]] bool look(std::int64_t now_ns);
  // Returns the time at which hope was last found; 0 if it never was.
  [[nodiscard]] std::int64_t hope_ns() const;
  // Returns the number of deadlines for which a rank waits without hope.
  [[nodiscard]] double deadlines_without_hope() const;
  [[nodiscard]] std::int64_t interval_ns() const { return interval_ns_; }
  // Called by a rank that gives up. Returns the reason for the missed deadline as a clause, equal
  // on all ranks of the node: "rank 3 (process 17 on host n5) has ended". From then on, the waits
  // of these ranks are in vain.
  [[nodiscard]] std::string suspicion();

 private:
  struct Sign;
  struct Board;
  enum class Sight : std::uint32_t { hope, waits, ended, left, stopped, idle };
  [[nodiscard]] Sign& sign(std::int64_t place) const;
  [[nodiscard]] Sight see(std::int64_t place) const;
  // Returns whether there are other nodes and the neighbouring nodes are watched.
  [[nodiscard]] bool others_are_watched() const;
  void look_at_all(std::int64_t now_ns, std::int64_t since_last_ns);
  // Records that waiting for the rank at this place is in vain, unless another place was named
  // before.
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

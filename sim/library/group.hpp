// The ranks of a communicator and their collective calls. All simulated ranks are contexts of one
// thread, so that a call's values are combined in memory, and none of its messages is simulated by
// itself: SimGrid takes some 30 us for each of them. A rank leaves the call at the simulated time
// at which messages would have let it go on. They go the ways on which MPI libraries send short
// ones: binomial trees, recursive doubling, and dissemination. The messages of a round share the
// links of their nodes with each other, and with nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "library/messages.hpp"
#include "library/simulated_rank.hpp"

namespace weir::sim {

// A rank in a collective call.
struct Seat {
  SimulatedRank* rank = nullptr;  // null: it has not come
  const std::byte* mine = nullptr;
  std::byte* result = nullptr;
  double seconds = 0;               // simulated time at which it has done what is known so far
  bool leaves = false;              // it leaves the call then
  bool waits = false;               // until it is known when it leaves
  double due = 0;                   // when the message from above in a tree comes
  std::vector<std::byte> values;    // its own, and those from below in a tree
  std::vector<std::size_t> places;  // of a root: where the values of each rank go in `result`
};

// The binomial tree of `size` ranks. A rank's place is its distance from the root, and the places
// below it are those up to `reach` - 1 after its own, in branches whose widths are powers of two.
struct Tree {
  int root = 0;
  int size = 0;

  [[nodiscard]] int place_of(int rank) const { return (rank - root + size) % size; }
  [[nodiscard]] int rank_at(int place) const { return (place + root) % size; }
  [[nodiscard]] int reach_of(int place) const;
  [[nodiscard]] int above(int place) const { return place - reach_of(place); }
};

class Group;

// One collective call of all ranks of a group.
class CollectiveCall {
 public:
  explicit CollectiveCall(const Group& group);

  [[nodiscard]] Seat& seat(int rank) { return seats_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::vector<Seat>& seats() { return seats_; }
  [[nodiscard]] int size() const { return static_cast<int>(seats_.size()); }
  [[nodiscard]] bool is_complete() const { return come_ == size(); }

  // A round of messages between ranks that have all come: each gets one of so many bytes from
  // source(rank), or none if that is negative.
  void receive_each(const std::function<int(int rank)>& source,
                    const std::function<double(int rank)>& bytes);
  // Dissemination: in each round a rank tells another one, at twice the distance of the round
  // before, what it knows of itself and of others.
  void disseminate(double bytes_of_each);
  // Returns how long a message is on the links between two nodes if it is alone there.
  [[nodiscard]] double seconds_between(int from, int to, std::size_t bytes) const;
  // Returns what a message costs its receiver besides its bytes.
  [[nodiscard]] double seconds_each() const;
  // The rank leaves at seat.seconds.
  void let_go(Seat& seat) const;
  void let_all_go();

  // What the first rank to come has made for all that duplicate a communicator.
  std::shared_ptr<Group> made;

 private:
  friend class Group;

  const Group& group_;
  std::vector<Seat> seats_;
  int come_ = 0;
  int gone_ = 0;
};

class Group {
 public:
  // `world`: the ranks' numbers among all.
  Group(const SimulatedSystem& system, std::vector<std::int64_t> world);

  [[nodiscard]] int size() const { return static_cast<int>(world_.size()); }
  [[nodiscard]] const std::vector<std::int64_t>& world() const { return world_; }
  [[nodiscard]] std::int64_t world_rank(int rank) const {
    return world_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::int64_t node_of(int rank) const;
  [[nodiscard]] const SimulatedSystem& system() const { return system_; }

  // Carries out the next call of `rank`, which blocks until the rank may leave. `act` is called
  // when the rank has come, and lets ranks go that can.
  void call(int rank, const void* mine, void* result,
            const std::function<void(CollectiveCall& call)>& act);

  // Messages to `rank` from ranks of this group.
  [[nodiscard]] Post& post_of(int rank) { return posts_[static_cast<std::size_t>(rank)]; }

 private:
  const SimulatedSystem& system_;
  std::vector<std::int64_t> world_;
  std::vector<Post> posts_;
  std::vector<std::int64_t> begun_;               // calls, by ranks
  std::map<std::int64_t, CollectiveCall> calls_;  // that some rank has not left, by numbers
};

}  // namespace weir::sim

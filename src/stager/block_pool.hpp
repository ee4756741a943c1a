// The blocks of a stager's memory: which are free, and which rank has the others. A block becomes
// ready once, is taken for a rank, and is given back when nothing of it is needed any more.
//
// A rank maps the pages of a block when it first fills it, which takes longer than to fill it. So a
// rank gets blocks again that it had before, as far as they are free: then those that no rank has
// had, or whose rank has left, and only then those that another rank would get again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "stager/events.hpp"

namespace weir::stager {

class BlockPool {
 public:
  // `most`: blocks that can become ready. `most_of_one`: blocks that one session may have; 0: no
  // limit.
  BlockPool(std::int64_t most, std::int64_t most_of_one) : most_(most), most_of_one_(most_of_one) {}

  // The next blocks, behind those that came before, are ready.
  void add(std::int64_t blocks);
  // No further block becomes ready.
  void end() { most_ = ready_; }
  // Takes a block for a rank of a session. One must be free, and the session must have room.
  [[nodiscard]] std::int64_t take(SessionId session, ClientId rank);
  void give_back(std::int64_t block);
  // The rank takes no further blocks; it may have some, which are given back later.
  void forget(ClientId rank);

  [[nodiscard]] std::int64_t most() const { return most_; }
  [[nodiscard]] std::int64_t ready() const { return ready_; }
  [[nodiscard]] std::int64_t free() const { return std::ssize(unkept_) + std::ssize(kept_); }
  [[nodiscard]] bool has_free() const { return free() > 0; }
  // Returns whether every block is ready and taken, so that only storing can make one free.
  [[nodiscard]] bool is_used_up() const { return !has_free() && ready_ == most_; }
  // Returns how many blocks a session has.
  [[nodiscard]] std::int64_t of(SessionId session) const;
  // Returns how many more blocks a session may have.
  [[nodiscard]] std::int64_t room_of(SessionId session) const;

 private:
  struct Owner {
    SessionId session = 0;
    ClientId rank = 0;
  };
  struct Kept {
    std::int64_t block = 0;
    ClientId rank = 0;  // that had it last
  };
  using Turn = std::uint64_t;

  // Takes a free block that is kept for a rank.
  std::int64_t take_kept(Turn turn);

  std::int64_t most_;
  std::int64_t most_of_one_;
  std::int64_t ready_ = 0;
  std::vector<std::int64_t> unkept_;             // free, and of no rank; the last one is taken next
  Turn last_turn_ = 0;                           // blocks were given back in the order of the turns
  std::map<Turn, Kept> kept_;                    // free, and kept for a rank
  std::map<ClientId, std::set<Turn>> kept_for_;  // of each rank that has taken a block and not left
  std::map<std::int64_t, Owner> owners_;         // of blocks that are not free
  std::map<SessionId, std::int64_t> counts_;     // of the blocks of each session
};

}  // namespace weir::stager

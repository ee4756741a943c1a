// The blocks of a stager's memory: which are free, and which session has the others. A block
// becomes ready once, is taken for a session, and is given back when nothing of it is needed any
// more.
#pragma once

#include <cstdint>
#include <map>
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
  // Takes a block for a session. One must be free, and the session must have room.
  [[nodiscard]] std::int64_t take(SessionId session);
  void give_back(std::int64_t block);

  [[nodiscard]] std::int64_t most() const { return most_; }
  [[nodiscard]] std::int64_t ready() const { return ready_; }
  [[nodiscard]] std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  [[nodiscard]] bool has_free() const { return !free_.empty(); }
  // Returns whether every block is ready and taken, so that only storing can make one free.
  [[nodiscard]] bool is_used_up() const { return free_.empty() && ready_ == most_; }
  // Returns how many blocks a session has.
  [[nodiscard]] std::int64_t of(SessionId session) const;
  // Returns how many more blocks a session may have.
  [[nodiscard]] std::int64_t room_of(SessionId session) const;

 private:
  std::int64_t most_;
  std::int64_t most_of_one_;
  std::int64_t ready_ = 0;
  std::vector<std::int64_t> free_;            // the last one is taken next
  std::map<std::int64_t, SessionId> owners_;  // of blocks that are not free
  std::map<SessionId, std::int64_t> counts_;  // of the blocks of each owner
};

}  // namespace weir::stager

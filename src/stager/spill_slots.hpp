// The slots of the spill file, and the blocks that are moving to them: at most one move is under
// way, of blocks of one session. What is moving stays in its block until the move has ended.
//
//     begin(), add() for each block ──► job ──► end(): bytes are in slots, their blocks are free
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/status.hpp"
#include "stager/events.hpp"

namespace weir::stager {

// Returns whether storage had no space for something, and may have some later.
[[nodiscard]] bool is_want_of_space(const Status& status);

class SpillSlots {
 public:
  // Says how a move has ended.
  struct Moved {
    SessionId session = 0;
    std::vector<std::int64_t> free;                 // blocks in which nothing is needed any more
    std::map<std::int64_t, SpilledBlock> by_block;  // where the bytes of the others are, if moved
  };

  explicit SpillSlots(std::int64_t slots);

  [[nodiscard]] std::int64_t all() const { return all_; }
  [[nodiscard]] std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  // Returns whether a move could begin now, were none under way.
  [[nodiscard]] bool is_usable() const { return !free_.empty() && failure_.ok() && !pauses_; }
  [[nodiscard]] bool is_moving() const { return !moving_.empty(); }
  // Returns whether a job of the spill file is under way, and whether it is this one.
  [[nodiscard]] bool is_busy() const { return job_ != 0; }
  [[nodiscard]] bool is_job(JobId job) const { return job_ != 0 && job_ == job; }
  // Returns why the file takes no more; ok: it does.
  [[nodiscard]] const Status& failure() const { return failure_; }

  void begin(JobId job, SessionId session);
  // Adds the first bytes of a block to the move that has begun. A slot must be free.
  void add(std::int64_t block, std::int64_t bytes);
  [[nodiscard]] Spill action() const { return {job_, moving_}; }
  // Gives up the move of this block, whose bytes nobody needs any more.
  void drop(std::int64_t block) { dropped_.insert(block); }
  // Ends the job under way. Nothing: it was one that gave back the file's space.
  [[nodiscard]] std::optional<Moved> end(const Status& status);
  void free_slot(std::int64_t slot) { free_.push_back(slot); }
  // Returns whether the file has space in which nothing is left, which a job can give back.
  [[nodiscard]] bool can_be_emptied() const { return is_used_ && job_ == 0 && free() == all_; }
  [[nodiscard]] EmptySpill empty(JobId job);
  // Lets a file that had no space left be tried again.
  void try_again() { pauses_ = false; }

 private:
  std::int64_t all_;
  std::vector<std::int64_t> free_;
  JobId job_ = 0;  // 0: none is under way
  SessionId session_ = 0;
  std::vector<SpilledBlock> moving_;
  std::set<std::int64_t> dropped_;  // blocks of `moving_`
  std::uint64_t last_stamp_ = 0;
  bool is_used_ = false;  // since its space was given back
  bool pauses_ = false;   // it had no space left
  Status failure_;
};

}  // namespace weir::stager

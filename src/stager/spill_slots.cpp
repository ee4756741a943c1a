#include "stager/spill_slots.hpp"

#include <cerrno>
#include <utility>

namespace weir::stager {

bool is_want_of_space(const Status& status) {
  return !status.ok() &&
         (status.error().system_error == ENOSPC || status.error().system_error == EDQUOT);
}

SpillSlots::SpillSlots(std::int64_t slots) : all_(slots) {
  for (std::int64_t slot = slots; slot > 0; --slot) free_.push_back(slot - 1);
}

void SpillSlots::begin(JobId job, SessionId session) {
  job_ = job;
  session_ = session;
  is_used_ = true;
}

void SpillSlots::add(std::int64_t block, std::int64_t bytes) {
  moving_.push_back({.block = block, .slot = free_.back(), .bytes = bytes, .stamp = ++last_stamp_});
  free_.pop_back();
}

// Bytes that could not move are still in memory, so nothing is lost.
std::optional<SpillSlots::Moved> SpillSlots::end(const Status& status) {
  job_ = 0;
  const std::vector<SpilledBlock> ended = std::exchange(moving_, {});
  const std::set<std::int64_t> dropped = std::exchange(dropped_, {});
  if (ended.empty()) return std::nullopt;
  if (is_want_of_space(status)) {
    pauses_ = true;
  } else if (!status.ok()) {
    failure_ = status;
  }
  Moved moved{.session = session_, .free = {}, .by_block = {}};
  for (SpilledBlock one : ended) {
    const std::int64_t block = std::exchange(one.block, -1);
    const bool is_dropped = dropped.contains(block);
    if (is_dropped || status.ok()) moved.free.push_back(block);
    if (is_dropped || !status.ok()) free_.push_back(one.slot);
    if (!is_dropped && status.ok()) moved.by_block.emplace(block, one);
  }
  return moved;
}

EmptySpill SpillSlots::empty(JobId job) {
  job_ = job;
  is_used_ = false;
  return {job};
}

}  // namespace weir::stager

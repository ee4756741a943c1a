#include "stager/block_pool.hpp"

#include <limits>

namespace weir::stager {

void BlockPool::add(std::int64_t blocks) {
  // The block that becomes free last is taken next, since the processor may have it in its cache.
  std::vector<std::int64_t> all;
  for (std::int64_t i = blocks; i > 0; --i) all.push_back(ready_ + i - 1);
  free_.insert(free_.begin(), all.begin(), all.end());
  ready_ += blocks;
}

std::int64_t BlockPool::take(SessionId session) {
  const std::int64_t block = free_.back();
  free_.pop_back();
  owners_[block] = session;
  ++counts_[session];
  return block;
}

void BlockPool::give_back(std::int64_t block) {
  free_.push_back(block);
  const auto owner = owners_.find(block);
  if (owner == owners_.end()) return;
  const auto count = counts_.find(owner->second);
  if (--count->second == 0) counts_.erase(count);
  owners_.erase(owner);
}

std::int64_t BlockPool::of(SessionId session) const {
  const auto count = counts_.find(session);
  return count == counts_.end() ? 0 : count->second;
}

std::int64_t BlockPool::room_of(SessionId session) const {
  return most_of_one_ > 0 ? most_of_one_ - of(session) : std::numeric_limits<std::int64_t>::max();
}

}  // namespace weir::stager

#include "stager/block_pool.hpp"

#include <limits>

namespace weir::stager {

void BlockPool::add(std::int64_t blocks) {
  // The block that becomes free last is taken next, since the processor may have it in its cache.
  std::vector<std::int64_t> all;
  for (std::int64_t i = blocks; i > 0; --i) all.push_back(ready_ + i - 1);
  unkept_.insert(unkept_.begin(), all.begin(), all.end());
  ready_ += blocks;
}

std::int64_t BlockPool::take(SessionId session, ClientId rank) {
  std::int64_t block = 0;
  if (const std::set<Turn>& own = kept_for_[rank]; !own.empty()) {
    block = take_kept(*own.rbegin());
  } else if (!unkept_.empty()) {
    block = unkept_.back();
    unkept_.pop_back();
  } else {
    block = take_kept(kept_.begin()->first);  // what its rank has not needed for the longest time
  }
  owners_[block] = {session, rank};
  ++counts_[session];
  return block;
}

std::int64_t BlockPool::take_kept(Turn turn) {
  const auto found = kept_.find(turn);
  const Kept kept = found->second;
  kept_.erase(found);
  kept_for_.at(kept.rank).erase(turn);
  return kept.block;
}

void BlockPool::give_back(std::int64_t block) {
  const auto owner = owners_.find(block);
  const ClientId rank = owner == owners_.end() ? 0 : owner->second.rank;
  if (const auto own = kept_for_.find(rank); own != kept_for_.end()) {
    kept_.emplace(++last_turn_, Kept{block, rank});
    own->second.insert(last_turn_);
  } else {
    unkept_.push_back(block);
  }
  if (owner == owners_.end()) return;
  const auto count = counts_.find(owner->second.session);
  if (--count->second == 0) counts_.erase(count);
  owners_.erase(owner);
}

void BlockPool::forget(ClientId rank) {
  const auto own = kept_for_.find(rank);
  if (own == kept_for_.end()) return;
  for (const Turn turn : own->second) {
    const auto kept = kept_.find(turn);
    unkept_.push_back(kept->second.block);
    kept_.erase(kept);
  }
  kept_for_.erase(own);
}

std::int64_t BlockPool::of(SessionId session) const {
  const auto count = counts_.find(session);
  return count == counts_.end() ? 0 : count->second;
}

std::int64_t BlockPool::room_of(SessionId session) const {
  return most_of_one_ > 0 ? most_of_one_ - of(session) : std::numeric_limits<std::int64_t>::max();
}

}  // namespace weir::stager

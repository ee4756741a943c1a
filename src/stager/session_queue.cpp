#include "stager/session_queue.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace weir::stager {
namespace {

// The most extents of a Write that has more than WriteLimits::bytes.
constexpr std::size_t most_extents = std::size_t{1} << 20;

bool is_urgent_item(const Item& item) {
  const auto* const filled = std::get_if<BlockItem>(&item);
  return filled == nullptr || filled->at_once;
}

bool is_encoded(const BlockItem& filled) {
  return std::ranges::any_of(filled.files, [](const auto& one) { return !one->encoded.empty(); });
}

}  // namespace

Item& SessionQueue::push(Item item) {
  if (is_urgent_item(item)) ++urgent_;
  return items_.emplace_back(std::move(item));
}

void SessionQueue::remove_first() {
  if (is_urgent_item(items_.front())) --urgent_;
  items_.pop_front();
}

void SessionQueue::remove_last() {
  if (is_urgent_item(items_.back())) --urgent_;
  items_.pop_back();
}

Write SessionQueue::begin_write(JobId job, SessionId session, const WriteLimits& limits) {
  in_job_ = 0;
  Write write{.job = job, .session = session, .files = {}, .extents = {}};
  std::unordered_map<const transport::NameFile*, std::size_t> indices;
  std::int64_t bytes = 0;
  std::int64_t read_back = 0;
  for (const Item& item : items_) {
    const auto* const filled = std::get_if<BlockItem>(&item);
    if (filled == nullptr || filled->is_moving || filled->recording != 0) break;
    if (bytes > 0 && bytes + filled->bytes > limits.bytes) {
      const bool is_short = write.extents.size() + filled->extents.size() <= most_extents;
      if (!is_short || !is_encoded(*filled) || bytes + filled->bytes > limits.encoded) break;
    }
    std::int64_t block = filled->block;
    if (filled->spilled) {
      if (read_back > 0 && read_back + filled->bytes > limits.read_back) break;
      read_back += filled->bytes;
      block = std::ssize(write.spilled);
      write.spilled.push_back(*filled->spilled);
    }
    std::int64_t at = 0;
    for (const transport::BlockExtent& extent : filled->extents) {
      const transport::NameFile* const named = filled->files[extent.file].get();
      const auto [index, is_new] = indices.try_emplace(named, write.files.size());
      if (is_new) write.files.push_back(*named);
      write.extents.push_back({.block = block,
                               .at = at,
                               .bytes = extent.bytes,
                               .file = index->second,
                               .offset = extent.offset,
                               .is_spilled = filled->spilled.has_value()});
      at += extent.bytes;
    }
    bytes += filled->bytes;
    ++in_job_;
  }
  return write;
}

std::vector<BlockItem*> SessionQueue::movable_filled_blocks() {
  std::vector<BlockItem*> found;
  for (std::size_t i = items_.size(); i > in_job_; --i) {
    auto* const filled = std::get_if<BlockItem>(&items_[i - 1]);
    if (filled != nullptr && !filled->spilled && filled->recording == 0) found.push_back(filled);
  }
  return found;
}

void SessionQueue::end_move(const std::map<std::int64_t, SpilledBlock>& moved) {
  for (Item& item : items_) {
    auto* const filled = std::get_if<BlockItem>(&item);
    if (filled == nullptr || !std::exchange(filled->is_moving, false)) continue;
    const auto place = moved.find(filled->block);
    if (place == moved.end()) continue;
    filled->spilled = place->second;
    filled->block = -1;
  }
}

std::int64_t SessionQueue::held_bytes() const {
  std::int64_t held = 0;
  for (const Item& item : items_) {
    if (const auto* const filled = std::get_if<BlockItem>(&item)) held += filled->bytes;
  }
  return held;
}

std::int64_t SessionQueue::steps() const {
  std::int64_t steps = 0;
  for (const Item& item : items_) {
    if (std::holds_alternative<CommitItem>(item) || std::holds_alternative<SealItem>(item)) ++steps;
  }
  return steps;
}

}  // namespace weir::stager

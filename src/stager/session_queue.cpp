#include "stager/session_queue.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace weir::stager {
namespace {

// The most extents of a Write that has more than WriteLimits::described.
constexpr std::size_t most_extents = std::size_t{1} << 20;

bool is_urgent_item(const Item& item) {
  const auto* const filled = std::get_if<BlockItem>(&item);
  return filled == nullptr || (filled->at_once && !filled->may_wait);
}

}  // namespace

Write to_write(const WriteBlocks& job) {
  Write write{.job = job.job, .session = job.session, .files = {}, .extents = {}};
  write.spilled = job.spilled;
  std::size_t extents = 0;
  for (const FilledExtents& filled : job.blocks) extents += filled.extents->size();
  write.extents.reserve(extents);
  std::unordered_map<const transport::NameFile*, std::size_t> indices;
  std::vector<std::size_t> in_write;  // of the files of a filled block
  for (const FilledExtents& filled : job.blocks) {
    in_write.clear();
    for (const NamedFile& named : filled.files) {
      const auto [index, is_new] = indices.try_emplace(named.get(), write.files.size());
      if (is_new) write.files.push_back(*named);
      in_write.push_back(index->second);
    }
    std::int64_t at = 0;
    for (const transport::BlockExtent& extent : *filled.extents) {
      write.extents.push_back({.block = filled.block,
                               .at = at,
                               .bytes = extent.bytes,
                               .file = in_write[extent.file],
                               .offset = extent.offset,
                               .is_spilled = filled.is_spilled});
      at += extent.bytes;
    }
  }
  return write;
}

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

void SessionQueue::end_waits(Waits which) {
  for (Item& item : items_) {
    auto* const filled = std::get_if<BlockItem>(&item);
    if (filled == nullptr || !filled->may_wait) continue;
    if (which == Waits::all || std::exchange(filled->has_waited, true)) {
      filled->may_wait = false;
      ++urgent_;
    }
  }
}

WriteBlocks SessionQueue::begin_write(JobId job, SessionId session, const WriteLimits& limits) {
  in_job_ = 0;
  WriteBlocks write{.job = job, .session = session, .blocks = {}};
  std::size_t extents = 0;
  std::int64_t bytes = 0;
  std::int64_t read_back = 0;
  for (const Item& item : items_) {
    const auto* const filled = std::get_if<BlockItem>(&item);
    if (filled == nullptr || filled->is_moving || filled->recording != 0) break;
    const bool is_short = extents + filled->extents->size() <= most_extents;
    const std::int64_t most = is_short ? limits.bytes : limits.described;
    if (bytes > 0 && bytes + filled->bytes > most) break;
    FilledExtents one{.block = filled->block,
                      .is_spilled = filled->spilled.has_value(),
                      .files = filled->files,
                      .extents = filled->extents};
    if (filled->spilled) {
      if (read_back > 0 && read_back + filled->bytes > limits.read_back) break;
      read_back += filled->bytes;
      one.block = std::ssize(write.spilled);
      write.spilled.push_back(*filled->spilled);
    }
    write.blocks.push_back(std::move(one));
    extents += filled->extents->size();
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

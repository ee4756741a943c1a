// A phase by io_uring: as many of its items in flight as the queue is deep. An operation's latency
// is from when it was put into the queue to when its answer was seen.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "common/clock.hpp"
#include "workloads/metadata/item_ring.hpp"
#include "workloads/metadata/phase.hpp"

namespace weir::bench::metadata {

struct Executor::InFlight {
  std::string path;
  std::string second;  // where link, symlink and rename go to
  std::int64_t began_ns = 0;
  bool closing = false;
};

// Puts the next item into the queue.
void Executor::begin_item(const Phase& phase, int slot, InFlight& item, const ItemPlace& at) {
  const TreeState& state = phase.before;
  const Action action = phase.action;
  item.path = path_->item(at.kind, at.owner, at.item, at.renamed, at.across);
  switch (action) {
    case Action::directory_rename:
    case Action::rename:
      item.second = second_path_->item(at.kind, at.owner, at.item, !at.renamed, at.across);
      break;
    case Action::rename_across:
      item.second = second_path_->item(at.kind, at.owner, at.item, at.renamed, !at.across);
      break;
    case Action::link:
      item.second = second_path_->item(Kind::link, at.owner, at.item, false, state.files_across);
      break;
    case Action::symlink:
      item.second = second_path_->item(Kind::symlink, at.owner, at.item, false, state.files_across);
      break;
    default:
      break;
  }
  item.closing = false;
  ring_->begin(slot, action, {AT_FDCWD, item.path.c_str()}, {AT_FDCWD, item.second.c_str()});
}

Status Executor::batched(Phase& phase, const std::function<std::optional<ItemPlace>()>& next) {
  const auto depth = static_cast<std::size_t>(options_.queue_depth);
  std::vector<InFlight> items(depth);
  std::vector<int> free;
  for (int slot = static_cast<int>(depth); slot-- > 0;) free.push_back(slot);
  std::vector<ItemRing::Answer> answers(depth);
  const bool opens = phase.action == Action::create || phase.action == Action::read;
  const char* operation = facts_of(phase.action).name;
  const std::int64_t start = monotonic_ns();
  Status status;
  bool more = true;
  while (true) {
    if (guard_.ending()) wait_for_the_end();
    while (more && status.ok() && !free.empty()) {
      const std::int64_t began = monotonic_ns();
      const auto place = next();
      more = place.has_value();
      if (!more) break;
      InFlight& item = items[static_cast<std::size_t>(free.back())];
      item.began_ns = began;
      begin_item(phase, free.back(), item, *place);
      free.pop_back();
    }
    if (free.size() == depth) break;
    const int count = ring_->wait(answers);
    if (count < 0) return system_failure("io_uring_enter", path_->text(), -1, -count);
    const std::int64_t now = monotonic_ns();
    for (int i = 0; i < count; ++i) {
      const ItemRing::Answer& answer = answers[static_cast<std::size_t>(i)];
      InFlight& item = items[static_cast<std::size_t>(answer.slot)];
      if (answer.result < 0 && status.ok()) {
        status = failure_of(phase.action, item.path, -answer.result);
      }
      if (opens && !item.closing && answer.result >= 0) {
        item.closing = true;
        ring_->close(answer.slot, answer.result);
        continue;
      }
      // The queue's time is counted once, not that of each call in it.
      phase.record.latencies.record(now - item.began_ns);
      ++phase.record.operations;
      free.push_back(answer.slot);
    }
    keep_watch(operation, path_->text(), now, phase.watched_ns);
  }
  phase.record.busy_ns += monotonic_ns() - start;
  return status;
}

}  // namespace weir::bench::metadata

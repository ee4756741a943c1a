// Operations by io_uring: as many are in flight as the queue is deep. Each operation opens, moves
// its content, makes it durable and closes as its plain call would, one step after the other, while
// other operations advance. Two operations on one item are never in flight together. An operation's
// latency extends from its entry into the queue until its last answer was seen.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "common/clock.hpp"
#include "workloads/metadata/item_ring.hpp"
#include "workloads/metadata/phase.hpp"

namespace weir::bench::metadata {

struct Executor::InFlight {
  enum class Step { free, calling, moving, syncing, closing };

  Queued what{};
  std::string path;
  std::string second;  // the destination of link, symlink and rename
  std::int64_t began_ns = 0;
  Step step = Step::free;
  int descriptor = -1;
  std::int64_t moved = 0;

  [[nodiscard]] bool opens() const {
    return what.action == Action::create || what.action == Action::write ||
           what.action == Action::read;
  }
  [[nodiscard]] bool writes() const { return what.action != Action::read; }
  [[nodiscard]] bool same_item(const Queued& other) const {
    return step != Step::free && what.at.item == other.at.item && what.at.owner == other.at.owner &&
           what.at.kind == other.at.kind;
  }
};

// Puts the next operation into the queue.
void Executor::begin_item(const Phase& phase, int slot, InFlight& item, const Queued& what) {
  const TreeState& state = phase.before;
  const ItemPlace& at = what.at;
  item.what = what;
  item.path = path_->item(at.kind, at.owner, at.item, at.renamed, at.across);
  switch (what.action) {
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
  item.step = InFlight::Step::calling;
  item.descriptor = -1;
  item.moved = 0;
  ring_->begin(slot, what.action, {AT_FDCWD, item.path.c_str()}, {AT_FDCWD, item.second.c_str()});
}

// Processes an answer and begins the next step. Returns whether the operation is finished. `error`
// is 0 or an error value of ItemCalls.
bool Executor::go_on(int slot, int result, InFlight& item, int& error) {
  using Step = InFlight::Step;
  const std::int64_t bytes = item.what.bytes;
  const std::int64_t asked = std::min(bytes - item.moved, ItemCalls::most_at_once);
  if (result < 0) error = -result;
  if (item.step == Step::calling && result >= 0) item.descriptor = result;
  if (item.step == Step::moving && result >= 0) {
    if (result != asked) error = short_transfer;
    item.moved += result;
  }
  if (item.step == Step::closing || !item.opens() || item.descriptor < 0) return true;
  const bool syncs = item.writes() && bytes > 0 && core_.durability != storage::Durability::none &&
                     item.step != Step::syncing;
  if (error == 0 && item.moved < bytes) {
    item.step = Step::moving;
    const auto more = static_cast<unsigned>(std::min(bytes - item.moved, ItemCalls::most_at_once));
    // No code examines what is read, so all reads may share the memory.
    void* const memory = item.writes() ? calls_.content() : calls_.buffer();
    ring_->move(slot, item.descriptor, item.writes(), memory, more, item.moved);
  } else if (error == 0 && syncs) {
    item.step = Step::syncing;
    ring_->sync(slot, item.descriptor, core_.durability == storage::Durability::data);
  } else {
    item.step = Step::closing;
    ring_->close(slot, item.descriptor);
  }
  return false;
}

Status Executor::batched(Phase& phase, const std::function<std::optional<Queued>()>& next) {
  const auto depth = static_cast<std::size_t>(options_.queue_depth);
  std::vector<InFlight> items(depth);
  std::vector<int> free;
  for (int slot = static_cast<int>(depth); slot-- > 0;) free.push_back(slot);
  std::vector<ItemRing::Answer> answers(depth);
  const char* operation = facts_of(phase.action).name;
  const std::int64_t start = monotonic_ns();
  Status status;
  std::optional<Queued> waiting;  // waits for another operation on the same item
  bool more = true;
  while (true) {
    if (guard_.ending()) wait_for_the_end();
    while (more && status.ok() && !free.empty()) {
      const std::int64_t began = monotonic_ns();
      if (!waiting) waiting = next();
      more = waiting.has_value();
      if (!more || (phase.action == Action::mix &&
                    std::any_of(items.begin(), items.end(),
                                [&](const InFlight& item) { return item.same_item(*waiting); }))) {
        break;
      }
      InFlight& item = items[static_cast<std::size_t>(free.back())];
      item.began_ns = began;
      begin_item(phase, free.back(), item, *waiting);
      waiting.reset();
      free.pop_back();
    }
    if (free.size() == depth) break;
    const int count = ring_->wait(answers);
    if (count < 0) return system_failure("io_uring_enter", path_->text(), -1, -count);
    const std::int64_t now = monotonic_ns();
    for (int i = 0; i < count; ++i) {
      const ItemRing::Answer& answer = answers[static_cast<std::size_t>(i)];
      InFlight& item = items[static_cast<std::size_t>(answer.slot)];
      int error = 0;
      const bool over = go_on(answer.slot, answer.result, item, error);
      if (error != 0 && status.ok()) status = failure_of(item.what.action, item.path, error);
      if (!over) continue;
      // The time of the queue is counted once, and not for each operation in it.
      for (ActionRecord* record : {&phase.record, item.what.part}) {
        if (record == nullptr) continue;
        record->latencies.record(now - item.began_ns);
        ++record->operations;
      }
      item.step = InFlight::Step::free;
      free.push_back(answer.slot);
    }
    keep_watch(operation, path_->text(), now, phase.watched_ns);
  }
  phase.record.busy_ns += monotonic_ns() - start;
  return status;
}

}  // namespace weir::bench::metadata

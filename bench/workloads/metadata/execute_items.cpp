// The operations of a phase on the items of one rank, one after the other, and on listings.
#include <fcntl.h>

#include <algorithm>
#include <vector>

#include "common/clock.hpp"
#include "workloads/metadata/phase.hpp"
#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

constexpr std::int64_t entries_between_looks = 1024;  // of a directory that is listed

}  // namespace

// Calls `call(request)`, which returns 0 or an error, for every item of this rank in the phase.
template <typename Call>
Status Executor::each_item(Phase& phase, Call&& call) {
  const TreeShape& shape = variant_->shape;
  const TreeState& state = phase.before;
  const bool makes = facts_of(phase.action).makes;
  const bool of_directories = facts_of(phase.action).subject == Subject::directory;
  const Kind kind = of_directories ? Kind::directory
                    : phase.action == Action::readlink || phase.action == Action::remove_symlinks
                        ? Kind::symlink
                    : phase.action == Action::remove_links ? Kind::link
                                                           : Kind::file;
  const bool renamed = of_directories ? state.directories_renamed : state.files_renamed;
  const bool across = !of_directories && state.files_across;
  const char* operation = facts_of(phase.action).name;
  const bool one_for_all =
      options_.one_creator && shape.sharing != Sharing::one_file &&
      (makes || phase.action == Action::unlink || phase.action == Action::rmdir);
  if (one_for_all && job_.rank != 0) return {};
  const std::int64_t first = one_for_all ? 0 : phase.owner;
  const std::int64_t last = one_for_all ? job_.size - 1 : phase.owner;
  for (std::int64_t owner = first; owner <= last; ++owner) {
    std::int64_t now = monotonic_ns();
    if (variant_->api->can.relative) {
      if (Status status = phase.base.open(path_->directory(owner, 0)); !status) return status;
      const std::int64_t opened = monotonic_ns();
      phase.paused_ns += opened - now;
      now = opened;
    }
    std::int64_t count = shape.items(owner);
    // A file that all ranks share can only be removed once.
    if (shape.sharing == Sharing::one_file && phase.action == Action::unlink) {
      count = job_.rank == 0 ? 1 : 0;
    }
    const Permutation order(count,
                            mixed(seed_, static_cast<std::uint64_t>(step_ * job_.size + owner)));
    const bool random = options_.random_order && !makes;
    guard_.entering(operation, &path_->text(), -1);
    if (phase.measured && variant_->api->can.queue) {
      std::int64_t i = 0;
      Status status = in_flight(phase, [&]() -> std::optional<Queued> {
        if (i == count) return std::nullopt;
        const std::int64_t item = random ? order(i) : i;
        ++i;
        return Queued{phase.action, {kind, owner, item, renamed, across}};
      });
      if (!status) return status;
      continue;
    }
    for (std::int64_t i = phase.first_item; i < count; ++i) {
      if (guard_.ending()) wait_for_the_end();
      const std::int64_t item = random ? order(i) : i;
      const int error =
          call(request_for(phase, phase.action, {kind, owner, item, renamed, across}));
      const std::int64_t end = monotonic_ns();
      phase.note(end - now);
      now = end;
      if (error != 0) return failure_of(phase.action, path_->text(), error);
      keep_watch(operation, path_->text(), now, phase.watched_ns);
      phase.reached = i + 1;
      if (phase.stop_ns != 0 && now >= phase.stop_ns) break;
    }
  }
  return {};
}

std::int64_t Executor::content_bytes(Action action, const TreeState& state, std::int64_t owner,
                                     std::int64_t item) const {
  if (action == Action::truncate) return options_.truncate_to;
  if (action == Action::create || action == Action::write) {
    return options_.size_of(seed_, owner, item);
  }
  if (action != Action::read || state.truncated) return 0;
  const std::int64_t bytes = options_.size_of(seed_, owner, item);
  return options_.read_bytes >= 0 ? std::min(bytes, options_.read_bytes) : bytes;
}

NameRequest Executor::request_for(const Phase& phase, Action action, const ItemPlace& at) {
  path_->item(at.kind, at.owner, at.item, at.renamed, at.across);
  const auto place_of = [&](const PathWriter& path) {
    const int base = phase.base.descriptor();
    return base < 0 ? Place{AT_FDCWD, path.text().c_str()} : Place{base, path.below_tree()};
  };
  // Writes the path of the item's second place.
  const auto second = [&](Kind kind, bool renamed, bool across) {
    second_path_->item(kind, at.owner, at.item, renamed, across);
    return place_of(*second_path_);
  };
  NameRequest request{.call = facts_of(action).call,
                      .place = place_of(*path_),
                      .bytes = content_bytes(action, phase.before, at.owner, at.item),
                      .exclusive = variant_->shape.sharing != Sharing::one_file};
  const Place whole{AT_FDCWD, path_->text().c_str()};
  switch (action) {
    case Action::directory_rename:
    case Action::rename:
      request.second = second(at.kind, !at.renamed, at.across);
      break;
    case Action::rename_across:
      request.second = second(at.kind, at.renamed, !at.across);
      break;
    case Action::link:
      request.second = second(Kind::link, false, phase.before.files_across);
      break;
    case Action::symlink:
      request.place = whole;
      request.second = second(Kind::symlink, false, phase.before.files_across);
      break;
    case Action::truncate:
    case Action::setxattr:
    case Action::getxattr:
      request.place = whole;
      break;
    default:
      break;
  }
  return request;
}

// An operation in flight. Its latency extends from its entry into the queue until its end was seen.
struct Executor::InFlight {
  Queued what{};
  std::string path;
  std::string second;
  std::int64_t began_ns = 0;
  bool busy = false;

  [[nodiscard]] bool same_item(const Queued& other) const {
    return busy && what.at.item == other.at.item && what.at.owner == other.at.owner &&
           what.at.kind == other.at.kind;
  }
};

// Two operations on one item are never in flight together.
Status Executor::in_flight(Phase& phase, const std::function<std::optional<Queued>()>& next) {
  const auto depth = static_cast<std::size_t>(options_.queue_depth);
  std::vector<InFlight> items(depth);
  std::vector<int> free;
  for (int slot = static_cast<int>(depth); slot-- > 0;) free.push_back(slot);
  std::vector<NameCalls::Answer> answers(depth);
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
      NameRequest request = request_for(phase, waiting->action, waiting->at);
      item.what = *waiting;
      item.path = request.place.path;
      request.place.path = item.path.c_str();
      if (request.second.path != nullptr) {
        item.second = request.second.path;
        request.second.path = item.second.c_str();
      }
      item.began_ns = began;
      item.busy = true;
      calls_->begin(free.back(), request);
      waiting.reset();
      free.pop_back();
    }
    if (free.size() == depth) break;
    const int count = calls_->wait(answers);
    if (count < 0) return system_failure("io_uring_enter", path_->text(), -1, -count);
    const std::int64_t now = monotonic_ns();
    for (int i = 0; i < count; ++i) {
      const NameCalls::Answer& answer = answers[static_cast<std::size_t>(i)];
      InFlight& item = items[static_cast<std::size_t>(answer.slot)];
      if (answer.result != 0 && status.ok()) {
        status = failure_of(item.what.action, item.path, answer.result);
      }
      // The time of the queue is counted once, and not for each operation in it.
      for (ActionRecord* record : {&phase.record, item.what.part}) {
        if (record == nullptr) continue;
        record->latencies.record(now - item.began_ns);
        ++record->operations;
      }
      item.busy = false;
      free.push_back(answer.slot);
    }
    keep_watch(operation, path_->text(), now, phase.watched_ns);
  }
  phase.record.busy_ns += monotonic_ns() - start;
  return status;
}

NameCalls& Executor::calls_of(const Phase& phase) const {
  return phase.measured ? *calls_ : *plain_;
}

Status Executor::on_items(Phase& phase) {
  NameCalls& calls = calls_of(phase);
  return each_item(phase, [&](const NameRequest& request) { return calls.make(request); });
}

// Opens many files, then closes them. One of the two is measured; the other is a pause.
Status Executor::on_batches(Phase& phase) {
  NameCalls& calls = calls_of(phase);
  std::size_t open = 0;
  const bool measures_open = phase.action == Action::open;
  ActionRecord not_counted;
  Phase visit{
      .action = phase.action, .before = phase.before, .owner = phase.owner, .record = not_counted};
  int error = 0;
  std::int64_t opening = monotonic_ns();  // when the opening of the first of this batch began
  const auto close_all = [&] {
    const std::int64_t closing = monotonic_ns();
    if (!measures_open) phase.paused_ns += closing - opening;
    std::int64_t now = closing;
    for (std::size_t i = 0; i < open; ++i) {
      const int failed = calls.make({.call = NameCall::close, .handle = i});
      if (error == 0) error = failed;
      const std::int64_t end = monotonic_ns();
      if (!measures_open) phase.note(end - now);
      now = end;
    }
    if (measures_open) phase.paused_ns += now - closing;
    open = 0;
    opening = now;
  };
  Status status = each_item(visit, [&](NameRequest request) {
    request.call = NameCall::open;
    request.handle = open;
    const std::int64_t start = monotonic_ns();
    if (const int failed = calls.make(request); failed != 0) return failed;
    if (measures_open) phase.note(monotonic_ns() - start);
    ++open;
    if (open == NameCalls::most_open) close_all();
    return error;
  });
  close_all();
  if (measures_open) phase.paused_ns += visit.paused_ns;
  if (!status || error == 0) return status;
  return failure_of(Action::close, path_->text(), error);
}

// Directories are distributed to the ranks round-robin. An operation is an entry that was found; a
// latency is that of a whole directory.
Status Executor::on_listings(Phase& phase) {
  const TreeShape& shape = variant_->shape;
  const std::int64_t each = shape.directories();
  const std::int64_t all = shape.trees() * each;
  const char* operation = facts_of(phase.action).name;
  const auto found = [&] {
    if (++phase.record.operations % entries_between_looks != 0) return;
    keep_watch(operation, path_->text(), monotonic_ns(), phase.watched_ns);
  };
  for (std::int64_t i = phase.owner; i < all; i += job_.size) {
    const std::string& path = path_->directory(i / each, i % each);
    guard_.entering(operation, &path_->text(), -1);
    const std::int64_t start = monotonic_ns();
    const int error =
        calls_of(phase).list(path.c_str(), phase.action == Action::readdir_attributes, found);
    const std::int64_t spent = monotonic_ns() - start;
    phase.record.latencies.record(spent);
    phase.record.busy_ns += spent;
    if (error != 0) return failure_of(phase.action, path_->text(), error);
  }
  return {};
}

}  // namespace weir::bench::metadata

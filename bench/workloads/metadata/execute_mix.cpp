// A repetition of a mix. The protocol, on every rank:
//   1. Make the tree and those of the rank's own items that must exist, unmeasured.
//   2. Run one phase of operations in random order, as in execute.cpp, on the items of the rank
//      that --rank-shift gives.
//   3. Check that exactly those of these items exist that should, and that the directories hold
//      nothing else.
//   4. Remove the remaining items, unmeasured.
#include <utility>

#include "common/clock.hpp"
#include "workloads/metadata/phase.hpp"
#include "workloads/metadata/verify.hpp"
#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

constexpr Subject subjects[] = {Subject::directory, Subject::file};

Kind kind_of(Subject subject) {
  return subject == Subject::directory ? Kind::directory : Kind::file;
}

}  // namespace

Result<RepetitionRecord> Executor::run_mix() {
  if (Status status = carry_out(Action::tree_create, nullptr); !status) return status.error();
  Status status = make_or_remove(mix_sequence(owner()), owner(), true);
  if (status = meet(std::move(status)); !status) return status.error();
  ++step_;  // what a rank has just created is in its own client's cache
  RepetitionRecord record;
  for (const Measured& measured : measured_on(options_, *variant_)) {
    record.phases.emplace_back();
    record.phases.back().measured = measured;
  }
  MixSequence sequence = mix_sequence(owner());
  if (status = mix_phase(sequence, record); !status) return status.error();
  status = make_or_remove(sequence, owner(), false);
  if (status = meet(std::move(status)); !status) return status.error();
  if (status = carry_out(Action::tree_remove, nullptr); !status) return status.error();
  record.items_verified = items_verified_;
  return record;
}

MixSequence Executor::mix_sequence(std::int64_t owner) const {
  return {options_.mix, variant_->shape.items(owner),
          mixed(seed_, static_cast<std::uint64_t>(owner))};
}

std::int64_t Executor::item_at(std::int64_t place, std::int64_t owner) const {
  if (!options_.random_order) return place;
  return Permutation(variant_->shape.items(owner),
                     mixed(seed_, static_cast<std::uint64_t>(owner)))(place);
}

// Creates or removes all items in the windows.
Status Executor::make_or_remove(const MixSequence& sequence, std::int64_t owner, bool making) {
  ActionRecord unmeasured;
  const TreeState state{.tree = true};
  Status status;
  for (const Subject subject : subjects) {
    const bool files = subject == Subject::file;
    const Action action = making ? (files ? Action::create : Action::mkdir)
                                 : (files ? Action::unlink : Action::rmdir);
    Phase phase{.action = action, .before = state, .owner = owner, .record = unmeasured};
    const Window& window = sequence.of(subject);
    for (std::int64_t i = 0; i < window.count && status.ok(); ++i) {
      if (guard_.ending()) wait_for_the_end();
      const std::int64_t item = item_at(window.place(i), owner);
      const NameRequest request =
          request_for(phase, action, {kind_of(subject), owner, item, false, false});
      keep_watch(facts_of(action).name, path_->text(), monotonic_ns(), phase.watched_ns);
      const int error = plain_->make(request);
      if (error != 0) status = failure_of(action, path_->text(), error);
    }
  }
  guard_.left();
  return status;
}

Status Executor::mix_phase(MixSequence& sequence, RepetitionRecord& record) {
  ActionRecord& whole = record.phases.front();
  TreeState state{.tree = true};
  Phase phase{.action = Action::mix, .before = state, .owner = owner(), .record = whole};
  if (Status status = meet({}); !status) return status;
  const auto calls_before = server_calls();
  if (Status status = meet({}); !status) return status;
  const std::int64_t start = monotonic_ns();
  Status status = mix_operations(sequence, phase, record);
  if (status.ok() && options_.sync_phases) status = sync_phase();
  guard_.left();
  whole.active = {.start_ns = start, .end_ns = monotonic_ns(), .paused_ns = phase.paused_ns};
  if (status = meet(std::move(status), &whole.wait_ns); !status) return status;
  if (status = count_server_calls(calls_before, whole); !status) return status;
  for (ActionRecord& part : record.phases) {
    part.active = whole.active;
    part.wait_ns = whole.wait_ns;
  }
  if (!core_.verify) return {};
  const char* checking = "checking the items";
  const std::string& text = path_->text();
  guard_.entering(checking, &text, -1);
  TreeCheck check(job_, options_, variant_->shape, names_, seed_,
                  [&] { keep_watch(checking, text, monotonic_ns(), phase.watched_ns); });
  for (const Subject subject : subjects) {
    const Window& window = sequence.of(subject);
    for (std::int64_t place = 0; place < window.capacity && status.ok(); ++place) {
      status = check.mixed_item(kind_of(subject), phase.owner, item_at(place, phase.owner),
                                window.holds(place), *plain_, *path_);
    }
  }
  // Items of other ranks in a directory may or may not exist.
  state.files = state.directories = true;
  if (status.ok()) status = check.listings(Action::mix, state, *path_);
  guard_.left();
  items_verified_ += check.verified();
  if (status = meet(std::move(status)); !status) return status;
  status =
      check.mixed_totals(sequence.of(Subject::file).count, sequence.of(Subject::directory).count);
  return meet(std::move(status));
}

Status Executor::mix_operations(MixSequence& sequence, Phase& phase, RepetitionRecord& record) {
  const std::int64_t count =
      options_.mix_operations > 0 ? options_.mix_operations : variant_->shape.items(phase.owner);
  std::int64_t now = monotonic_ns();
  if (variant_->api->can.relative) {
    if (Status status = phase.base.open(path_->directory(phase.owner, 0)); !status) return status;
    phase.paused_ns = monotonic_ns() - now;
    now += phase.paused_ns;
  }
  const Permutation order(variant_->shape.items(phase.owner),
                          mixed(seed_, static_cast<std::uint64_t>(phase.owner)));
  const char* operation = facts_of(Action::mix).name;
  guard_.entering(operation, &path_->text(), -1);
  if (variant_->api->can.queue) return mix_in_flight(sequence, phase, record, count);
  for (std::int64_t i = 0; i < count; ++i) {
    if (guard_.ending()) wait_for_the_end();
    const auto next = sequence.next();
    if (!next) break;
    const Action action = options_.mix[next->part].action;
    const std::int64_t item = options_.random_order ? order(next->place) : next->place;
    const int error = calls_->make(request_for(
        phase, action, {kind_of(facts_of(action).subject), phase.owner, item, false, false}));
    const std::int64_t end = monotonic_ns();
    phase.note(end - now);
    record.phases[1 + next->part].note(end - now);
    now = end;
    if (error != 0) return failure_of(action, path_->text(), error);
    keep_watch(operation, path_->text(), now, phase.watched_ns);
  }
  return {};
}

Status Executor::mix_in_flight(MixSequence& sequence, Phase& phase, RepetitionRecord& record,
                               std::int64_t count) {
  const Permutation order(variant_->shape.items(phase.owner),
                          mixed(seed_, static_cast<std::uint64_t>(phase.owner)));
  std::int64_t begun = 0;
  Status status = in_flight(phase, [&]() -> std::optional<Queued> {
    if (begun == count) return std::nullopt;
    const auto next = sequence.next();
    if (!next) return std::nullopt;
    ++begun;
    const Action action = options_.mix[next->part].action;
    const std::int64_t item = options_.random_order ? order(next->place) : next->place;
    return Queued{action,
                  {kind_of(facts_of(action).subject), phase.owner, item, false, false},
                  &record.phases[1 + next->part]};
  });
  // Many operations are in flight at a time, so the time is divided among the kinds by their
  // numbers.
  const ActionRecord& whole = phase.record;
  for (std::size_t part = 1; part < record.phases.size() && whole.operations > 0; ++part) {
    const double share =
        static_cast<double>(record.phases[part].operations) / static_cast<double>(whole.operations);
    record.phases[part].busy_ns =
        static_cast<std::int64_t>(share * static_cast<double>(whole.busy_ns));
  }
  return status;
}

}  // namespace weir::bench::metadata

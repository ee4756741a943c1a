// The protocol of one phase, on every rank:
//   1. Do, unmeasured, what the action needs: files for stat, a symbolic link for readlink.
//   2. Meet twice: the second barrier is short, so that all ranks begin at once.
//   3. Do one operation after the other, and read the clock once between any two. An operation's
//      time thus includes the writing of its path. Then call syncfs if it was requested.
//   4. Meet: the phase ends here for mdtest; it ended for this rank before the barrier.
//   5. Check, unmeasured, that everything exists that should, and nothing else (verify.cpp).
// A rank whose operation failed goes on to the next meeting and reports the failure there.
#include "workloads/metadata/execute.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "measurement/stonewall_file.hpp"
#include "workloads/metadata/phase.hpp"
#include "workloads/metadata/verify.hpp"

namespace weir::bench::metadata {
Error failure_of(Action action, const std::string& path, int error) {
  const std::string operation(facts_of(action).name);
  if (error != short_transfer && error != wrong_content) {
    return system_failure(operation, path, -1, error);
  }
  Error told;
  told.code = error == short_transfer ? ErrorCode::short_transfer : ErrorCode::corrupt;
  told.operation = operation;
  told.file = path;
  told.message =
      operation + (error == short_transfer ? " moved fewer bytes than requested"
                                           : " found data that differs from the written data");
  return told;
}

void wait_for_the_end() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

OpenDirectory::~OpenDirectory() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status OpenDirectory::open(const std::string& path) {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) return system_failure("open", path, -1, errno);
  return {};
}

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Options& options, std::string root, std::uint64_t seed, ClientCalls client)
    : job_(job),
      guard_(guard),
      core_(core),
      options_(options),
      names_{.root = std::move(root), .prefix = options.prefix, .length = options.name_length},
      seed_(seed),
      shift_(core.rank_shift),
      content_(options.largest_size(), seed),
      barrier_(job.world, Patience::of(job)),
      client_(std::move(client)) {
  int counts = job.node_rank == 0 && client_.now() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &counts, 1, MPI_INT, MPI_MAX, job.world);
  counts_server_calls_ = counts != 0;
  if (options.shift_given || job.nodes == 1) return;
  // If consecutive ranks share a node, as rank 0 sees it, the shift leads to the next node's ranks.
  const bool by_block = job.node_size > 1 && job.node_world_ranks[1] == 1;
  shift_ = by_block ? job.node_size : 1;
  MPI_Bcast(&shift_, 1, MPI_INT64_T, 0, job.world);
}

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  const auto agreed = barrier_.wait(mine.ok() ? none_failed : job_.rank);
  return status_of(agreed, job_.rank, std::move(mine), &failed_rank_, wait_ns);
}

void Executor::keep_watch(const char* operation, const std::string& path, std::int64_t now_ns,
                          std::int64_t& watched_ns) {
  if (now_ns - watched_ns <= look_after_ns) return;
  guard_.entering(operation, &path, -1);
  barrier_.still_working();
  watched_ns = now_ns;
}

std::int64_t Executor::owner() const { return (job_.rank + step_ * shift_) % job_.size; }

Result<RepetitionRecord> Executor::run(const Variant& variant) {
  variant_ = &variant;
  path_ = std::make_unique<PathWriter>(names_, variant.shape);
  second_path_ = std::make_unique<PathWriter>(names_, variant.shape);
  state_ = {};
  // In an earlier run that kept its items, each rank created its own.
  step_ = options_.existing ? 1 : 0;
  items_verified_ = 0;
  const bool shared_file = variant.shape.sharing == Sharing::one_file;
  if (options_.existing) {
    state_.tree = true;
    state_.files = options_.kinds.files || shared_file;
    state_.directories = options_.kinds.directories && !shared_file;
  }
  if (options_.delay_seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.delay_seconds));
  }
  if (Status status = take_calls_of(variant); !status) return status.error();
  if (!options_.mix.empty()) return run_mix();
  RepetitionRecord record;
  for (const Action action : actions_on(options_, variant)) {
    bool touched = false;
    for (const Action before : preparation_for(action, state_)) {
      if (Status status = carry_out(before, nullptr); !status) return status.error();
      touched = touched || before != Action::tree_create;
    }
    // What a rank has just created or changed is in its own client's cache.
    if (touched) ++step_;
    record.phases.emplace_back();
    record.phases.back().measured = {.action = action};
    if (Status status = carry_out(action, &record.phases.back()); !status) return status.error();
    if (action != Action::tree_create) ++step_;
  }
  if (!options_.keep) {
    for (const Action action : removal_of(state_)) {
      if (Status status = carry_out(action, nullptr); !status) return status.error();
    }
  }
  record.items_verified = items_verified_;
  return record;
}

Status Executor::take_calls_of(const Variant& variant) {
  const SessionSettings settings{.communicator = job_.world,
                                 .deadline_seconds = core_.deadline_seconds,
                                 .durability = core_.durability,
                                 .queue_depth = options_.queue_depth};
  const auto take = [&](const Interface& interface, NameCalls** taken) -> Status {
    OpenCalls& found = open_calls_[&interface];
    if (found.calls == nullptr) {
      auto opened = OpenCalls::open(interface, settings, content_, calls_on(options_, variant));
      Status status = opened ? Status() : Status(opened.error());
      if (opened) found = std::move(opened).value();
      if (status = meet(std::move(status)); !status) return status;
    }
    *taken = found.calls.get();
    return {};
  };
  if (Status status = take(*interface_named("posix"), &plain_); !status) return status;
  return take(*variant.api, &calls_);
}

Status Executor::carry_out(Action action, ActionRecord* record) {
  ActionRecord unmeasured;
  ActionRecord& own = record != nullptr ? *record : unmeasured;
  Phase phase{.action = action, .before = state_, .owner = owner(), .record = own};
  phase.measured = record != nullptr;
  // A rank creates and removes its own tree.
  if (facts_of(action).subject == Subject::tree) phase.owner = job_.rank;
  if (Status status = meet({}); !status) return status;
  const auto calls_before = server_calls();
  if (Status status = meet({}); !status) return status;
  const std::int64_t start = monotonic_ns();
  phase.watched_ns = start;
  const bool has_stonewall = options_.stonewall_seconds > 0 && record != nullptr &&
                             (action == Action::create || action == Action::mkdir);
  if (has_stonewall) {
    phase.stop_ns = start + static_cast<std::int64_t>(options_.stonewall_seconds * 1e9);
  }
  Status status = perform(phase);
  if (has_stonewall) {
    if (status = meet(std::move(status)); !status) return status;
    status = go_on_to_the_furthest(phase);
  }
  if (status.ok() && options_.sync_phases && record != nullptr) status = sync_phase();
  guard_.left();
  own.active = {.start_ns = start, .end_ns = monotonic_ns(), .paused_ns = phase.paused_ns};
  if (status = meet(std::move(status), &own.wait_ns); !status) return status;
  if (status = count_server_calls(calls_before, own); !status) return status;
  state_ = after(action, state_);
  if (!core_.verify) return {};
  const char* checking = "checking the items";
  const std::string& text = path_->text();
  guard_.entering(checking, &text, -1);
  TreeCheck check(job_, options_, variant_->shape, names_, seed_,
                  [&] { keep_watch(checking, text, monotonic_ns(), phase.watched_ns); });
  status = check.items(action, state_, phase.owner, *plain_, *path_);
  if (status.ok()) status = check.listings(action, state_, *path_);
  guard_.left();
  items_verified_ += check.verified();
  if (status = meet(std::move(status)); !status) return status;
  status = check.totals(action, state_);
  return meet(std::move(status));
}

Status Executor::go_on_to_the_furthest(Phase& phase) {
  std::int64_t furthest = phase.reached;
  MPI_Allreduce(MPI_IN_PLACE, &furthest, 1, MPI_INT64_T, MPI_MAX, job_.world);
  shortened_ = *variant_;
  shortened_.shape.items_per_rank = furthest;
  variant_ = &shortened_;
  phase.first_item = phase.reached;
  phase.stop_ns = 0;
  Status status = perform(phase);
  if (status.ok() && job_.rank == 0 && !options_.stonewall_file.empty()) {
    status = write_stonewall_file(options_.stonewall_file, furthest);
  }
  return status;
}

std::optional<CallCounts> Executor::server_calls() const {
  return counts_server_calls_ && job_.node_rank == 0 ? client_.now() : std::nullopt;
}

Status Executor::count_server_calls(const std::optional<CallCounts>& before, ActionRecord& record) {
  if (!counts_server_calls_) return {};
  if (const auto after = server_calls(); before && after) {
    record.server_calls = calls_between(*before, *after);
  }
  return meet({});
}

Status Executor::sync_phase() {
  OpenDirectory root;
  if (Status status = root.open(names_.root); !status) return status;
  guard_.entering("syncfs", &names_.root, -1);
  return syncfs(root.descriptor()) == 0 ? Status()
                                        : system_failure("syncfs", names_.root, -1, errno);
}

Status Executor::perform(Phase& phase) {
  switch (facts_of(phase.action).subject) {
    case Subject::tree:
      return on_tree(phase);
    case Subject::listing:
      return on_listings(phase);
    case Subject::directory:
    case Subject::file:
      break;
  }
  if (phase.action == Action::open || phase.action == Action::close) return on_batches(phase);
  return on_items(phase);
}

// Rank 0 creates and removes every directory of a tree that all ranks share.
Status Executor::on_tree(Phase& phase) {
  const TreeShape& shape = variant_->shape;
  if (shape.sharing != Sharing::per_rank && job_.rank != 0) return {};
  const bool making = phase.action == Action::tree_create;
  const std::int64_t count = shape.directories();
  std::int64_t now = monotonic_ns();
  for (std::int64_t i = 0; i < count; ++i) {
    if (guard_.ending()) wait_for_the_end();
    // Parents are created before children, and children are removed before parents.
    const std::string& path = path_->directory(phase.owner, making ? i : count - 1 - i);
    if (i == 0) guard_.entering(facts_of(phase.action).name, &path_->text(), -1);
    keep_watch(facts_of(phase.action).name, path_->text(), now, phase.watched_ns);
    const int error =
        plain_->make({.call = facts_of(phase.action).call, .place = {AT_FDCWD, path.c_str()}});
    const std::int64_t end = monotonic_ns();
    phase.note(end - now);
    now = end;
    if (error != 0) return failure_of(phase.action, path, error);
  }
  return {};
}

}  // namespace weir::bench::metadata

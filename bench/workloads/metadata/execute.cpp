// Protocol of one phase, on every rank:
//   1. Do, unmeasured, what the action needs: files for stat, a symbolic link for readlink.
//   2. Meet twice: the second barrier is short, so that all begin at once.
//   3. One operation after the other, with one look at the clock between two of them: an
//      operation's time holds the writing of its path. Then syncfs, where it is asked for.
//   4. Meet: the phase ends for mdtest here; it ended for this rank before the barrier.
//   5. Check, unmeasured, what should exist and that nothing else does (verify.cpp).
// A rank whose operation failed goes on to the next meeting and tells it there.
#include "workloads/metadata/execute.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "workloads/metadata/verify.hpp"
#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

constexpr std::int64_t look_after_ns = 20'000'000;  // how often the deadline's watch is told
constexpr std::size_t open_at_once = 64;

// The guard's thread removes everything and ends the process.
[[noreturn]] void wait_for_the_end() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

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
      error == short_transfer
          ? fmt::format("{} moved fewer bytes than asked for (file {})", operation, path)
          : fmt::format("{} found other data than were written (file {})", operation, path);
  return told;
}

}  // namespace

OpenDirectory::~OpenDirectory() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status OpenDirectory::open(const std::string& path) {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) return system_failure("open", path, -1, errno);
  return {};
}

// The state of one phase while it runs.
struct Executor::Phase {
  Action action;
  const TreeState& before;
  std::int64_t owner;  // whose items
  ActionRecord& record;
  std::int64_t paused_ns = 0;
  OpenDirectory base = {};  // Api::relative: what paths are relative to
  std::int64_t watched_ns = 0;

  void note(std::int64_t ns) {
    record.latencies.record(ns);
    record.busy_ns += ns;
    ++record.operations;
  }
};

Executor::Executor(const Job& job, FailureGuard& guard, const CoreSettings& core,
                   const Options& options, std::string root, std::uint64_t seed)
    : job_(job),
      guard_(guard),
      core_(core),
      options_(options),
      names_{.root = std::move(root), .prefix = options.prefix, .length = options.name_length},
      seed_(seed),
      shift_(core.rank_shift),
      calls_(options.largest_size(), seed, core.durability) {
  if (options.shift_given || job.nodes == 1) return;
  // The next node's ranks where consecutive ranks share a node, as rank 0 sees it.
  const bool by_block = job.node_size > 1 && job.node_world_ranks[1] == 1;
  shift_ = by_block ? job.node_size : 1;
  MPI_Bcast(&shift_, 1, MPI_INT64_T, 0, job.world);
}

Status Executor::meet(Status mine, std::int64_t* wait_ns) {
  if (!mine && mine.error().rank < 0) mine.error().rank = job_.rank;
  auto agreed = agree(job_.world, mine.ok() ? none_failed : job_.rank, job_.deadline_ns());
  if (!agreed) {
    failed_rank_ = job_.rank;
    return agreed.error();
  }
  if (wait_ns != nullptr) *wait_ns = agreed.value().wait_ns;
  if (agreed.value().failed_rank == none_failed) return {};
  failed_rank_ = agreed.value().failed_rank;
  return mine.ok() ? Status(failed_elsewhere(failed_rank_)) : mine;
}

std::int64_t Executor::owner() const { return (job_.rank + step_ * shift_) % job_.size; }

Place Executor::place_of(const Phase& phase, const PathWriter& path) const {
  if (variant_->api == Api::posix) return {AT_FDCWD, path.text().c_str()};
  return {phase.base.descriptor(), path.below_tree()};
}

Result<RepetitionRecord> Executor::run(const Variant& variant) {
  variant_ = &variant;
  path_ = std::make_unique<PathWriter>(names_, variant.shape);
  second_path_ = std::make_unique<PathWriter>(names_, variant.shape);
  state_ = {};
  step_ = 0;
  items_verified_ = 0;
  const bool shared_file = variant.shape.sharing == Sharing::one_file;
  if (options_.existing) {
    state_.tree = true;
    state_.files = options_.files || shared_file;
    state_.directories = options_.directories && !shared_file;
  }
  if (options_.delay_seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.delay_seconds));
  }
  RepetitionRecord record;
  for (const Action action : actions_on(options_, variant.shape)) {
    bool touched = false;
    for (const Action before : preparation_for(action, state_)) {
      if (Status status = carry_out(before, nullptr); !status) return status.error();
      touched = touched || before != Action::tree_create;
    }
    // What a rank has just made or changed is in its own client's cache.
    if (touched) ++step_;
    record.phases.emplace_back();
    record.phases.back().action = action;
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

Status Executor::carry_out(Action action, ActionRecord* record) {
  ActionRecord unmeasured;
  ActionRecord& own = record != nullptr ? *record : unmeasured;
  Phase phase{.action = action, .before = state_, .owner = owner(), .record = own};
  // A tree of its own is made and removed by the rank whose it is.
  if (facts_of(action).subject == Subject::tree) phase.owner = job_.rank;
  if (Status status = meet({}); !status) return status;
  if (Status status = meet({}); !status) return status;
  const std::int64_t start = monotonic_ns();
  phase.watched_ns = start;
  Status status = perform(phase);
  if (status.ok() && options_.sync_phases && record != nullptr) status = sync_phase();
  guard_.left();
  own.elapsed_ns = monotonic_ns() - start - phase.paused_ns;
  if (status = meet(std::move(status), &own.wait_ns); !status) return status;
  state_ = after(action, state_);
  if (!core_.verify) return {};
  const std::string& text = path_->text();
  guard_.entering("checking what is there", &text, -1);
  TreeCheck check(job_, options_, variant_->shape, names_, seed_);
  status = check.items(action, state_, phase.owner, calls_, *path_);
  if (status.ok()) status = check.listings(action, state_, *path_);
  guard_.left();
  items_verified_ += check.verified();
  if (status = meet(std::move(status)); !status) return status;
  status = check.totals(action, state_);
  return meet(std::move(status));
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

// Of a tree that all share rank 0 makes and removes every directory.
Status Executor::on_tree(Phase& phase) {
  const TreeShape& shape = variant_->shape;
  if (shape.sharing != Sharing::per_rank && job_.rank != 0) return {};
  const bool making = phase.action == Action::tree_create;
  const std::int64_t count = shape.directories();
  std::int64_t now = monotonic_ns();
  for (std::int64_t i = 0; i < count; ++i) {
    // Parents first, or children first.
    if (guard_.ending()) wait_for_the_end();
    const std::string& path = path_->directory(phase.owner, making ? i : count - 1 - i);
    const Place place{AT_FDCWD, path.c_str()};
    if (i == 0 || now - phase.watched_ns > look_after_ns) {
      guard_.entering(facts_of(phase.action).name, &path_->text(), -1);
      phase.watched_ns = now;
    }
    const int error =
        making ? ItemCalls::make_directory(place) : ItemCalls::remove_directory(place);
    const std::int64_t end = monotonic_ns();
    phase.note(end - now);
    now = end;
    if (error != 0) return failure_of(phase.action, path, error);
  }
  return {};
}

// Calls `call(place, owner, item)`, which returns 0 or an error, for every item that is this rank's
// in the phase.
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
    if (variant_->api == Api::relative) {
      if (Status status = phase.base.open(path_->directory(owner, 0)); !status) return status;
      const std::int64_t opened = monotonic_ns();
      phase.paused_ns += opened - now;
      now = opened;
    }
    std::int64_t count = shape.items(owner);
    // One file for all can be removed once.
    if (shape.sharing == Sharing::one_file && phase.action == Action::unlink) {
      count = job_.rank == 0 ? 1 : 0;
    }
    const Permutation order(count,
                            mixed(seed_, static_cast<std::uint64_t>(step_ * job_.size + owner)));
    const bool random = options_.random_order && !makes;
    guard_.entering(operation, &path_->text(), -1);
    for (std::int64_t i = 0; i < count; ++i) {
      if (guard_.ending()) wait_for_the_end();
      const std::int64_t item = random ? order(i) : i;
      path_->item(kind, owner, item, renamed, across);
      const int error = call(place_of(phase, *path_), owner, item);
      const std::int64_t end = monotonic_ns();
      phase.note(end - now);
      now = end;
      if (error != 0) return failure_of(phase.action, path_->text(), error);
      if (now - phase.watched_ns > look_after_ns) {
        guard_.entering(operation, &path_->text(), -1);
        phase.watched_ns = now;
      }
    }
  }
  return {};
}

Status Executor::on_items(Phase& phase) {
  const TreeState& state = phase.before;
  const TreeShape& shape = variant_->shape;
  const auto size = [&](std::int64_t owner, std::int64_t item) {
    return options_.size_of(seed_, owner, item);
  };
  // An item's second place, after its own is written.
  const auto second = [&](Kind kind, std::int64_t owner, std::int64_t item, bool renamed,
                          bool across) {
    second_path_->item(kind, owner, item, renamed, across);
    return place_of(phase, *second_path_);
  };
  const bool r = state.files_renamed;
  const bool a = state.files_across;
  switch (phase.action) {
    case Action::mkdir:
      return each_item(phase, [](Place p, auto, auto) { return ItemCalls::make_directory(p); });
    case Action::rmdir:
      return each_item(phase, [](Place p, auto, auto) { return ItemCalls::remove_directory(p); });
    case Action::directory_rename:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        return ItemCalls::rename(
            p, second(Kind::directory, owner, item, !state.directories_renamed, false));
      });
    case Action::create:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        return calls_.create(p, size(owner, item), shape.sharing != Sharing::one_file);
      });
    case Action::directory_stat:
    case Action::stat:
      return each_item(phase, [](Place p, auto, auto) { return ItemCalls::stat(p); });
    case Action::lstat:
      return each_item(phase, [](Place p, auto, auto) { return ItemCalls::lstat(p); });
    case Action::utime:
      return each_item(phase, [](Place p, auto, auto) { return ItemCalls::utime(p); });
    case Action::chmod:
      return each_item(phase, [](Place p, auto, auto) { return ItemCalls::chmod(p); });
    case Action::write:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        return calls_.write(p, size(owner, item));
      });
    case Action::read:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        std::int64_t bytes = state.truncated ? 0 : size(owner, item);
        if (options_.read_bytes >= 0) bytes = std::min(bytes, options_.read_bytes);
        return calls_.read(p, bytes, false);
      });
    case Action::truncate:
      return each_item(phase, [&](Place /*p*/, auto, auto) {
        return ItemCalls::truncate(path_->text().c_str(), options_.truncate_to);
      });
    case Action::setxattr:
      return each_item(phase, [&](Place /*p*/, auto, auto) {
        return ItemCalls::set_attribute(path_->text().c_str());
      });
    case Action::getxattr:
      return each_item(phase, [&](Place /*p*/, auto, auto) {
        return ItemCalls::get_attribute(path_->text().c_str());
      });
    case Action::rename:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        return ItemCalls::rename(p, second(Kind::file, owner, item, !r, a));
      });
    case Action::rename_across:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        return ItemCalls::rename(p, second(Kind::file, owner, item, r, !a));
      });
    case Action::link:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        return ItemCalls::link(p, second(Kind::link, owner, item, false, a));
      });
    case Action::symlink:
      return each_item(phase, [&](Place /*p*/, std::int64_t owner, std::int64_t item) {
        return ItemCalls::symlink(path_->text().c_str(),
                                  second(Kind::symlink, owner, item, false, a));
      });
    case Action::readlink:
      return each_item(phase, [](Place p, auto, auto) { return ItemCalls::readlink(p); });
    default:
      return each_item(phase, [](Place p, auto, auto) { return ItemCalls::remove(p); });
  }
}

// Opens many, then closes them; one of both is measured, the other a pause.
Status Executor::on_batches(Phase& phase) {
  std::array<int, open_at_once> descriptors{};
  std::size_t open = 0;
  const bool measures_open = phase.action == Action::open;
  ActionRecord not_counted;
  Phase visit{
      .action = phase.action, .before = phase.before, .owner = phase.owner, .record = not_counted};
  int error = 0;
  std::int64_t opening = monotonic_ns();  // when this batch's first was about to be opened
  const auto close_all = [&] {
    const std::int64_t closing = monotonic_ns();
    if (!measures_open) phase.paused_ns += closing - opening;
    std::int64_t now = closing;
    for (std::size_t i = 0; i < open; ++i) {
      if (::close(descriptors[i]) != 0 && error == 0) error = errno;
      const std::int64_t end = monotonic_ns();
      if (!measures_open) phase.note(end - now);
      now = end;
    }
    if (measures_open) phase.paused_ns += now - closing;
    open = 0;
    opening = now;
  };
  Status status = each_item(visit, [&](Place place, auto, auto) {
    const std::int64_t start = monotonic_ns();
    const int descriptor = ItemCalls::open(place);
    if (descriptor < 0) return errno;
    if (measures_open) phase.note(monotonic_ns() - start);
    descriptors[open++] = descriptor;
    if (open == open_at_once) close_all();
    return error;
  });
  close_all();
  if (measures_open) phase.paused_ns += visit.paused_ns;
  if (!status || error == 0) return status;
  return failure_of(Action::close, path_->text(), error);
}

// Directories are dealt to the ranks in turn. An operation is an entry that was found; a latency is
// that of a whole directory.
Status Executor::on_listings(Phase& phase) {
  const TreeShape& shape = variant_->shape;
  const std::int64_t each = shape.directories();
  const std::int64_t all = shape.trees() * each;
  for (std::int64_t i = phase.owner; i < all; i += job_.size) {
    const std::string& path = path_->directory(i / each, i % each);
    guard_.entering(facts_of(phase.action).name, &path_->text(), -1);
    const std::int64_t start = monotonic_ns();
    Status status = list_directory(phase, path);
    const std::int64_t spent = monotonic_ns() - start;
    phase.record.latencies.record(spent);
    phase.record.busy_ns += spent;
    if (!status) return status;
  }
  return {};
}

Status Executor::list_directory(Phase& phase, const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return failure_of(phase.action, path, errno);
  const int descriptor = dirfd(directory);
  const bool attributes = phase.action == Action::readdir_attributes;
  int error = 0;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    ++phase.record.operations;
    if (attributes) error = ItemCalls::lstat({descriptor, entry->d_name});
    if (error != 0) break;
    errno = 0;
  }
  if (error == 0) error = errno;
  closedir(directory);
  return error == 0 ? Status() : failure_of(phase.action, path, error);
}

}  // namespace weir::bench::metadata

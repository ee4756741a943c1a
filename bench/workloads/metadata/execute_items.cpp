// The operations of a phase on the items of one rank, one after the other, and on listings.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "common/clock.hpp"
#include "workloads/metadata/mpi_item_calls.hpp"
#include "workloads/metadata/phase.hpp"
#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

constexpr std::int64_t entries_between_looks = 1024;  // of a directory that is listed
constexpr std::size_t open_at_once = 64;

}  // namespace

// Calls `call(place, owner, item)`, which returns 0 or an error, for every item of this rank in the
// phase.
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
    // A file that all ranks share can only be removed once.
    if (shape.sharing == Sharing::one_file && phase.action == Action::unlink) {
      count = job_.rank == 0 ? 1 : 0;
    }
    const Permutation order(count,
                            mixed(seed_, static_cast<std::uint64_t>(step_ * job_.size + owner)));
    const bool random = options_.random_order && !makes;
    guard_.entering(operation, &path_->text(), -1);
    if (variant_->api == Api::ring && phase.measured) {
      std::int64_t i = 0;
      Status status = batched(phase, [&]() -> std::optional<Queued> {
        if (i == count) return std::nullopt;
        const std::int64_t item = random ? order(i) : i;
        ++i;
        return Queued{phase.action,
                      {kind, owner, item, renamed, across},
                      content_bytes(phase.action, state, owner, item)};
      });
      if (!status) return status;
      continue;
    }
    for (std::int64_t i = phase.first_item; i < count; ++i) {
      if (guard_.ending()) wait_for_the_end();
      const std::int64_t item = random ? order(i) : i;
      path_->item(kind, owner, item, renamed, across);
      const int error = call(place_of(phase, *path_), owner, item);
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
  if (action == Action::create || action == Action::write) {
    return options_.size_of(seed_, owner, item);
  }
  if (action != Action::read || state.truncated) return 0;
  const std::int64_t bytes = options_.size_of(seed_, owner, item);
  return options_.read_bytes >= 0 ? std::min(bytes, options_.read_bytes) : bytes;
}

// Does an action without a second place: one call for the item whose path has just been written.
// Returns 0 or an error.
int Executor::call(Action action, const TreeState& state, Place place, std::int64_t owner,
                   std::int64_t item) {
  const bool one_file = variant_->shape.sharing == Sharing::one_file;
  const char* whole_path = path_->text().c_str();
  switch (action) {
    case Action::mkdir:
      return ItemCalls::make_directory(place);
    case Action::rmdir:
      return ItemCalls::remove_directory(place);
    case Action::create:
      return calls_.create(place, content_bytes(action, state, owner, item), !one_file);
    case Action::directory_stat:
    case Action::stat:
      return ItemCalls::stat(place);
    case Action::lstat:
      return ItemCalls::lstat(place);
    case Action::utime:
      return ItemCalls::utime(place);
    case Action::chmod:
      return ItemCalls::chmod(place);
    case Action::write:
      return calls_.write(place, content_bytes(action, state, owner, item));
    case Action::read:
      return calls_.read(place, content_bytes(action, state, owner, item), false);
    case Action::truncate:
      return ItemCalls::truncate(whole_path, options_.truncate_to);
    case Action::setxattr:
      return ItemCalls::set_attribute(whole_path);
    case Action::getxattr:
      return ItemCalls::get_attribute(whole_path);
    case Action::readlink:
      return ItemCalls::readlink(place);
    default:  // unlink, of files and of what link and symlink made
      return ItemCalls::remove(place);
  }
}

Status Executor::on_items(Phase& phase) {
  const TreeState& state = phase.before;
  // Writes the path of an item's second place, after that of its own place.
  const auto second = [&](Kind kind, std::int64_t owner, std::int64_t item, bool renamed,
                          bool across) {
    second_path_->item(kind, owner, item, renamed, across);
    return place_of(phase, *second_path_);
  };
  const bool r = state.files_renamed;
  const bool a = state.files_across;
  if (variant_->api == Api::mpi && phase.measured) {
    return each_item(phase, [&](auto, std::int64_t owner, std::int64_t item) {
      return mpi_call(phase.action, state, owner, item);
    });
  }
  switch (phase.action) {
    case Action::directory_rename:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        return ItemCalls::rename(
            p, second(Kind::directory, owner, item, !state.directories_renamed, false));
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
    default:
      return each_item(phase, [&](Place p, std::int64_t owner, std::int64_t item) {
        return call(phase.action, state, p, owner, item);
      });
  }
}

// Does an action on the item whose path has just been written.
int Executor::mpi_call(Action action, const TreeState& state, std::int64_t owner,
                       std::int64_t item) {
  const char* path = path_->text().c_str();
  const FileContent content{.memory = calls_.content(),
                            .memory_bytes = ItemCalls::most_at_once,
                            .bytes = content_bytes(action, state, owner, item),
                            .durable = core_.durability != storage::Durability::none};
  switch (action) {
    case Action::create:
      return MpiItemCalls::create(path, variant_->shape.sharing != Sharing::one_file, content);
    case Action::write:
      return MpiItemCalls::write(path, content);
    case Action::read: {
      FileContent read = content;
      read.memory = calls_.buffer();
      return MpiItemCalls::read(path, read);
    }
    case Action::truncate:
      return MpiItemCalls::truncate(path, options_.truncate_to);
    default:
      return MpiItemCalls::remove(path);
  }
}

Status Executor::on_batches(Phase& phase) {
  if (variant_->api == Api::mpi && phase.measured) {
    return in_batches<MPI_File>(
        phase, [](Place place, MPI_File* file) { return MpiItemCalls::open(place.path, file); },
        [](MPI_File* file) { return MpiItemCalls::close(file); });
  }
  return in_batches<int>(
      phase,
      [](Place place, int* descriptor) {
        *descriptor = ItemCalls::open(place);
        return *descriptor < 0 ? errno : 0;
      },
      [](const int* descriptor) { return ::close(*descriptor) == 0 ? 0 : errno; });
}

// Opens many handles, then closes them. One of the two is measured; the other is a pause.
template <typename Handle, typename Open, typename Close>
Status Executor::in_batches(Phase& phase, const Open& open_one, const Close& close_one) {
  std::array<Handle, open_at_once> handles{};
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
      const int failed = close_one(&handles[i]);
      if (error == 0) error = failed;
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
    if (const int failed = open_one(place, &handles[open]); failed != 0) return failed;
    if (measures_open) phase.note(monotonic_ns() - start);
    ++open;
    if (open == open_at_once) close_all();
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
    if (phase.record.operations % entries_between_looks == 0) {
      keep_watch(facts_of(phase.action).name, path, monotonic_ns(), phase.watched_ns);
    }
    errno = 0;
  }
  if (error == 0) error = errno;
  closedir(directory);
  return error == 0 ? Status() : failure_of(phase.action, path, error);
}

}  // namespace weir::bench::metadata

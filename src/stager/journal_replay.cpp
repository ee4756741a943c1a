#include "stager/journal_replay.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>
#include <variant>

#include "checksums/sums_file.hpp"
#include "formats/commit_progress.hpp"
#include "formats/writer_lock.hpp"
#include "stager/disk_record.hpp"
#include "stager/journal.hpp"
#include "stager/scarce_memory.hpp"
#include "stager/session_files.hpp"
#include "stager/share_marks.hpp"
#include "stager/stored_paths.hpp"
#include "stored/file_description.hpp"
#include "system/file_replacement.hpp"
#include "system/frame_socket.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"
#include "system/text_file.hpp"
#include "system/uninterrupted.hpp"
#include "transport/filled_block.hpp"

namespace weir::stager {
namespace {

constexpr std::string_view aside_suffix = ".aside";
// Memory for blocks, which are written together.
constexpr std::int64_t most_replayed_together = longest_journaled_block;
// A share is noted, written, committed, told of and removed.
constexpr int most_tasks = 8;
constexpr std::size_t most_mark_bytes = std::size_t{4} << 20;  // of each file of marks

// Writes the blocks of a journal, many at a time.
class BlockWriter {
 public:
  BlockWriter(const JournaledStep& step, const storage::RootFolder* root)
      : step_(step),
        memory_(static_cast<std::size_t>(most_replayed_together)),
        files_(memory_, 1, nullptr, root) {}

  Status take(std::span<const std::byte> block, std::int64_t extents) {
    const auto all = transport::extents_of(block, extents);
    if (!all) return all.error();
    if (used_ + block.size() > memory_.size()) {
      if (Status written = write(); !written.ok()) return written;
    }
    std::copy(block.begin(), block.end(), memory_.begin() + static_cast<std::ptrdiff_t>(used_));
    auto at = static_cast<std::int64_t>(used_);
    for (const transport::BlockExtent& one : all.value()) {
      extents_.push_back({.block = 0,
                          .at = at,
                          .bytes = one.bytes,
                          .file = static_cast<std::size_t>(one.file),
                          .offset = one.offset});
      at += one.bytes;
    }
    used_ = static_cast<std::size_t>(at);
    return {};
  }
  // Makes the bytes durable.
  Status settle() {
    if (Status written = write(); !written.ok()) return written;
    const auto sealed = files_.execute(Seal{.job = 0, .session = 0, .step = {}});
    return sealed ? Status() : sealed.error();
  }
  Status commit(transport::CommitStep step) {
    if (Status written = write(); !written.ok()) return written;
    return files_.execute(Commit{.job = 0, .session = 0, .step = std::move(step)});
  }

 private:
  Status write() {
    if (extents_.empty()) return {};
    Status written = files_.execute(Write{
        .job = 0, .session = 0, .files = step_.files, .extents = std::exchange(extents_, {})});
    used_ = 0;
    return written;
  }

  const JournaledStep& step_;
  std::vector<std::byte> memory_;
  std::size_t used_ = 0;
  SessionFiles files_;
  std::vector<BlockExtent> extents_;
};

// What became of a journal.
enum class Fate : std::uint8_t { removed, left, waits, aside };
struct Replayed {
  Fate fate = Fate::removed;
  std::string line;  // for people; "": nothing unusual
};

Replayed stays(const JournaledStep& told, const std::string& why) {
  return {Fate::left, fmt::format("a step of {} stays in the journal, for the next stager: {}",
                                  storage::printable(told.step.path), why)};
}

std::string is_foreign(const transport::CommitStep& step, const Status& unreadable) {
  return fmt::format("a step in the journal is not stored: {} was replaced or changed since{}",
                     storage::printable(step.path),
                     unreadable.ok() ? "" : " (" + unreadable.error().text() + ")");
}

// Returns why nothing can be said of a file now: its file system may not be mounted yet, or refuse
// what is asked of it.
Status can_be_compared(const std::string& path) {
  const std::string place = storage::committed_path(path);
  for (const std::string& name : {place, storage::folder_of(place)}) {
    struct stat about {};
    if (::stat(name.c_str(), &about) == 0) return {};
    if (errno != ENOENT && errno != ENOTDIR) return system_failure("stat", name, -1, errno);
  }
  return Error(ErrorCode::io,
               "its folder is not there; remove the journal if the folder was removed", path);
}

// Returns whether an error tells that something else has taken the place of the file.
bool is_of_another(const Error& error) {
  constexpr std::array reasons = {ENOENT, ENOTDIR, EISDIR, ELOOP, ENXIO, ESPIPE};
  return error.code != ErrorCode::io ||
         std::ranges::find(reasons, error.system_error) != reasons.end();
}

std::string why_without_lock(const Result<storage::WriterLock>& lock) {
  if (!lock) return lock.error().message;
  return lock.value().has_no_locks() ? "its file system has no locks"
                                     : "its lock cannot be taken in its folder";
}

// A commit that was killed may have left the file of checksums under its temporary name.
void name_sums(const transport::CommitStep& step) {
  if (!step.names_sums || !storage::is_on_disk(storage::incomplete_sums_path(step.path))) return;
  (void)storage::rename_sums(storage::incomplete_sums_path(step.path),
                             storage::sums_path(step.path), step.durability);
}

Status write_blocks(const storage::File& journal, BlockWriter& writer) {
  const auto read =
      read_journal(journal, [&](std::span<const std::byte> block, std::int64_t extents) {
        return writer.take(block, extents);
      });
  return read ? Status() : Status(read.error());
}

Result<transport::CommitStep> rest_of(const transport::CommitStep& step) {
  auto rest = storage::rest_of(step.path, step.update);
  if (!rest) return rest.error();
  transport::CommitStep left = step;
  left.update = std::move(rest).value();
  return left;
}

// The lock of the step's file is held.
Replayed store(const storage::File& journal, const JournaledStep& told,
               const storage::RootFolder* root) {
  const transport::CommitStep& step = told.step;
  const std::string path = storage::printable(step.path);
  const auto progress = storage::progress_of(step.path, told.files.front().known->identity,
                                             step.update, told.before.update);
  if (!progress && !is_of_another(progress.error())) return stays(told, progress.error().text());
  if (!progress) return {Fate::aside, is_foreign(step, progress.error())};
  if (progress.value() == storage::CommitProgress::is_foreign) {
    return {Fate::aside, is_foreign(step, {})};
  }
  if (progress.value() == storage::CommitProgress::is_done) {
    name_sums(step);
    return {Fate::removed, fmt::format("a step of {} in the journal was stored already", path)};
  }
  BlockWriter writer(told, root);
  Status stored;
  // The bytes of a file are in it before it gets its name.
  if (progress.value() == storage::CommitProgress::can_begin)
    stored = write_blocks(journal, writer);
  if (stored.ok()) {
    auto rest = rest_of(step);
    stored = rest ? writer.commit(std::move(rest).value()) : Status(rest.error());
  }
  if (!stored.ok()) return stays(told, stored.error().text());
  return {Fate::removed, fmt::format("a step of {} was stored from the journal", path)};
}

std::string hosts_of(const transport::StepShare& share, std::span<const std::uint64_t> numbers) {
  std::vector<std::string> hosts;
  hosts.reserve(numbers.size());
  for (const std::uint64_t one : numbers) hosts.push_back(storage::printable(share.hosts[one]));
  return fmt::format("{}", fmt::join(hosts, ", "));
}

Replayed share_waits(const WaitingShare& share, const std::string& why) {
  return {Fate::waits, fmt::format("a step of {} waits in the journals of {} stagers: {}",
                                   storage::printable(share.told.step.path),
                                   share.told.share.hosts.size(), why)};
}

// The marks beside the file of a step.
class MarksOnDisk {
 public:
  explicit MarksOnDisk(const std::string& path)
      : shares_path_(storage::committed_path(path) + ".weir_shares"),
        written_path_(storage::written_shares_path(path)) {}

  [[nodiscard]] Result<ShareMarks> read() const {
    const auto shares = text_at(shares_path_);
    if (!shares) return shares.error();
    const auto written = text_at(written_path_);
    if (!written) return written.error();
    return ShareMarks(shares.value(), written.value());
  }
  // Durable when it returns. The lock of the file is held.
  [[nodiscard]] Status write(const ShareMarks& marks) const {
    Status done = write_text(written_path_, marks.written());
    return done.ok() ? write_text(shares_path_, marks.shares()) : done;
  }

 private:
  static Result<std::string> text_at(const std::string& path) {
    if (!storage::is_on_disk(path)) return std::string();
    return storage::read_text_file(path, most_mark_bytes);
  }
  static Status write_text(const std::string& path, std::string text) {
    const auto now = text_at(path);
    if (!now) return now.error();
    if (now.value() == text) return {};
    if (!text.empty()) {
      Status done = storage::replace_file(path, std::move(text), true);
      if (!done.ok()) return done;
    } else if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return system_failure("unlink", path, -1, errno);
    }
    return storage::sync_folder(storage::folder_of(path));
  }

  std::string shares_path_;
  std::string written_path_;
};

// What is found of a share's step.
struct Found {
  ShareMarks marks;
  Status unreadable;  // why the file cannot be compared
  ShareTask next = ShareTask::lay_aside_foreign;
};
Result<Found> look_at(const WaitingShare& one, const MarksOnDisk& disk) {
  auto marks = disk.read();
  if (!marks) return marks.error();
  Found found{.marks = std::move(marks).value(), .unreadable = {}};
  const auto progress =
      storage::progress_of(one.told.step.path, one.told.files.front().known->identity,
                           one.told.step.update, one.told.before.update);
  if (!progress && !is_of_another(progress.error())) return progress.error();
  if (!progress) found.unreadable = progress.error();
  found.next = next_task(progress ? progress.value() : storage::CommitProgress::is_foreign,
                         found.marks, one.told.share, one.time_ns);
  return found;
}

// Carries out a task that writes something.
Status carry_out(const WaitingShare& one, Found& found, const MarksOnDisk& disk,
                 const storage::RootFolder* root) {
  const JournaledStep& told = one.told;
  switch (found.next) {
    case ShareTask::note:
      found.marks.note_waiting(told.share, one.time_ns);
      return disk.write(found.marks);
    case ShareTask::write: {
      BlockWriter writer(told, root);
      Status written = write_blocks(one.journal, writer);
      if (written.ok()) written = writer.settle();
      if (!written.ok()) return written;
      found.marks.note_written(told.share, one.time_ns);
      return disk.write(found.marks);
    }
    case ShareTask::commit: {
      auto rest = rest_of(told.step);
      if (!rest) return rest.error();
      SessionFiles files({}, 1, nullptr, root);
      return files.execute(Commit{.job = 0, .session = 0, .step = std::move(rest).value()});
    }
    case ShareTask::tell_others:
      found.marks.note_stored(told.share);
      return disk.write(found.marks);
    default:
      found.marks.forget(told.share);
      return disk.write(found.marks);
  }
}

// Does for a share what can be done now. The lock of the step's file is held.
Replayed go_on(const WaitingShare& one, const MarksOnDisk& disk, const storage::RootFolder* root) {
  const transport::StepShare& share = one.told.share;
  const std::string path = storage::printable(one.told.step.path);
  bool has_committed = false;
  for (int tasks = 0; tasks < most_tasks; ++tasks) {
    auto looked = look_at(one, disk);
    if (!looked) return share_waits(one, looked.error().text());
    Found& found = looked.value();
    if (found.next == ShareTask::wait_for_journals) {
      return share_waits(one, fmt::format("no stager has told that it has the journal of {}; "
                                          "start one there with the same --journal",
                                          hosts_of(share, found.marks.absent(share))));
    }
    if (found.next == ShareTask::wait_for_bytes) {
      return share_waits(one, fmt::format("the share of {} is still to be written; start a stager "
                                          "there with the same --journal",
                                          hosts_of(share, found.marks.unwritten(share))));
    }
    if (Status done = carry_out(one, found, disk, root); !done.ok()) {
      return share_waits(one, done.error().text());
    }
    has_committed = has_committed || found.next == ShareTask::commit;
    if (found.next == ShareTask::remove) {
      name_sums(one.told.step);
      return {Fate::removed,
              has_committed ? fmt::format("a step of {} was stored from the journals of {} stagers",
                                          path, share.hosts.size())
                            : fmt::format("a step of {} in the journal was stored already", path)};
    }
    if (found.next == ShareTask::lay_aside_foreign) {
      return {Fate::aside, is_foreign(one.told.step, found.unreadable)};
    }
    if (found.next == ShareTask::lay_aside_earlier) {
      return {Fate::aside,
              fmt::format("a step in the journal is not stored: a later step of {} takes its place",
                          path)};
    }
  }
  return share_waits(one, "the marks beside the file do not stay as they are written");
}

Replayed go_on_with(const WaitingShare& one, const storage::RootFolder* root) {
  const transport::CommitStep& step = one.told.step;
  if (Status below = check_below(root, step); !below.ok()) {
    return share_waits(one, below.error().message);
  }
  if (Status can = can_be_compared(step.path); !can.ok()) {
    return share_waits(one, can.error().message);
  }
  const MarksOnDisk disk(step.path);
  // While nothing can be done, programs find the file without a lock. A commit may be under way, so
  // what is found without the lock counts only if the file is as it was.
  const auto before = look_at(one, disk);
  const bool is_idle = before && !one.line.empty() &&
                       (before.value().next == ShareTask::wait_for_journals ||
                        before.value().next == ShareTask::wait_for_bytes);
  if (is_idle) return {Fate::waits, one.line};
  auto lock = storage::WriterLock::take_for_shares(step.path);
  if (!lock || !lock.value().is_held()) {
    return share_waits(one, why_without_lock(lock));
  }
  return go_on(one, disk, root);
}

// Returns a share of a step in place of what becomes of it.
std::variant<Replayed, JournaledStep> replay(const storage::File& journal,
                                             const storage::RootFolder* root) {
  auto found = read_journal(journal, nullptr);
  if (!found && found.error().code != ErrorCode::corrupt &&
      found.error().code != ErrorCode::unsupported) {
    return Replayed{Fate::left, found.error().text()};
  }
  if (!found) {
    return Replayed{Fate::aside,
                    fmt::format("a journal is not replayed: {}", found.error().text())};
  }
  if (!found.value()) return Replayed{Fate::removed, ""};
  JournaledStep& told = *found.value();
  if (!told.share.hosts.empty()) return std::move(told);
  if (Status below = check_below(root, told.step); !below.ok()) {
    return Replayed{Fate::left,
                    fmt::format("a step of {} stays in the journal: {}",
                                storage::printable(told.step.path), below.error().message)};
  }
  if (Status can = can_be_compared(told.step.path); !can.ok()) {
    return stays(told, can.error().message);
  }
  auto lock = storage::WriterLock::take(told.step.path);
  if (!lock || !lock.value().is_held()) return stays(told, why_without_lock(lock));
  return store(journal, told, root);
}

// Opens a journal that no stager is writing. `is_in_use`: one is.
std::optional<storage::File> open_left(const std::string& path, bool& is_in_use) {
  is_in_use = false;
  const int descriptor = storage::uninterrupted(
      [&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0) return std::nullopt;
  storage::File file = storage::File::passed(descriptor, path, 0);
  struct stat about {};
  const bool is_own = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
                      about.st_uid == ::geteuid() && about.st_nlink == 1;
  if (!is_own) return std::nullopt;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    is_in_use = errno == EWOULDBLOCK;
    return std::nullopt;
  }
  // The journal's stager may have removed it between the two calls.
  struct stat now {};
  const bool is_there = ::lstat(path.c_str(), &now) == 0 && now.st_ino == about.st_ino;
  return is_there ? std::optional(std::move(file)) : std::nullopt;
}

// Removes a journal or lays it aside; other fates leave it.
void end_journal(const std::string& name, const Replayed& done, const Tell& say) {
  std::string kept;
  if (done.fate == Fate::removed) {
    (void)::unlink(name.c_str());
  } else if (done.fate == Fate::aside) {
    const std::string aside = name + std::string(aside_suffix);
    (void)::rename(name.c_str(), aside.c_str());
    kept = fmt::format("; the journal is kept as {}", aside);
  }
  if (!done.line.empty()) say(done.line + kept);
}

std::int64_t nanoseconds_of(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

WaitingShare waiting_share(storage::File journal, JournaledStep told) {
  WaitingShare share{.journal = std::move(journal), .told = std::move(told), .line = {}};
  struct stat about {};
  if (::fstat(share.journal.descriptor(), &about) == 0) {
    share.time_ns = nanoseconds_of(about.st_mtim);
  }
  return share;
}

}  // namespace

std::optional<WaitingShare> take_share(storage::File journal, const Tell& say) {
  auto found = with_memory([&] { return read_journal(journal, nullptr); });
  if (found && found.value() && !found.value()->share.hosts.empty()) {
    const auto bytes = length_of(journal);
    WaitingShare share = waiting_share(std::move(journal), std::move(*found.value()));
    share.bytes = bytes ? bytes.value() : 0;
    return share;
  }
  say(fmt::format("a journal stays for the next stager: {}",
                  found ? journal.path() : found.error().text()));
  return std::nullopt;
}

std::int64_t go_on_with_shares(std::vector<WaitingShare>& shares, const storage::RootFolder* root,
                               const Tell& say) {
  // A later step takes the place of an earlier one, so it is looked at first.
  std::ranges::stable_sort(shares, std::greater<>(), &WaitingShare::time_ns);
  std::int64_t removed = 0;
  std::erase_if(shares, [&](WaitingShare& one) {
    const auto tried = with_memory([&]() -> Result<Replayed> { return go_on_with(one, root); });
    Replayed done = tried ? tried.value() : share_waits(one, tried.error().text());
    if (done.fate == Fate::waits) {
      if (done.line != one.line) say(done.line);
      one.line = std::move(done.line);
      return false;
    }
    end_journal(one.journal.path(), done, say);
    removed += one.bytes;
    return true;
  });
  return removed;
}

void replay_journals_in_use(std::vector<std::string>& in_use, std::vector<WaitingShare>& shares,
                            const storage::RootFolder* root, const Tell& say) {
  std::erase_if(in_use, [&](const std::string& name) {
    bool is_in_use = false;
    auto file = open_left(name, is_in_use);
    if (!file) return !is_in_use;
    auto done = with_memory(
        [&]() -> Result<std::variant<Replayed, JournaledStep>> { return replay(*file, root); });
    if (!done) {
      say(fmt::format("{} stays for the next stager: {}", name, done.error().text()));
    } else if (auto* const told = std::get_if<JournaledStep>(&done.value())) {
      shares.push_back(waiting_share(std::move(*file), std::move(*told)));
    } else {
      end_journal(name, std::get<Replayed>(done.value()), say);
    }
    return true;
  });
}

std::vector<WaitingShare> replay_journals(const std::string& folder,
                                          const storage::RootFolder* root, const Tell& say,
                                          std::vector<std::string>* in_use) {
  std::error_code failed;
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (std::filesystem::directory_iterator one(folder, failed), end; !failed && one != end;
       one.increment(failed)) {
    const std::string name = one->path().filename().string();
    struct stat about {};
    if (name.starts_with(journal_prefix) && !name.ends_with(aside_suffix) &&
        ::lstat(one->path().c_str(), &about) == 0) {
      found.emplace_back(nanoseconds_of(about.st_mtim), one->path().string());
    }
  }
  // A later step of a file takes the place of an earlier one, so it is looked at first.
  std::ranges::sort(found, std::greater<>());
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [time_ns, name] : found) names.push_back(std::move(name));
  std::vector<WaitingShare> shares;
  replay_journals_in_use(names, shares, root, say);
  (void)go_on_with_shares(shares, root, say);
  if (in_use != nullptr) *in_use = std::move(names);
  return shares;
}

}  // namespace weir::stager

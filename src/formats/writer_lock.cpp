#include "formats/writer_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "stored/file_description.hpp"
#include "system/incomplete.hpp"
#include "system/process_name.hpp"
#include "system/slices.hpp"
#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t longest_holder = 300;  // bytes of a lock's text
// Each failed attempt means that another run took the lock and removed it between two calls of this
// run.
constexpr int most_attempts = 100;

std::string holder_in(const File& file) {
  std::string text(longest_holder, '\0');
  const Slice slice{reinterpret_cast<std::byte*>(text.data()),
                    static_cast<std::int64_t>(text.size())};
  std::int64_t moved = 0;
  std::int64_t calls = 0;
  if (!read_slices(file, {&slice, 1}, 0, moved, calls).ok()) moved = 0;
  text.resize(static_cast<std::size_t>(moved));
  text.resize(std::min(text.find('\n'), text.size()));
  return printable(text);
}

Error is_taken(const std::string& path, const std::string& holder, const std::string& taker) {
  const bool is_here = holder == taker;
  return invalid_argument(
      is_here
          ? "this program already has it open for writing: close it first, or give another name"
          : fmt::format("{} is writing it: wait until that run has closed it, or give another name",
                        holder.empty() ? "another run" : holder),
      path);
}

// Returns -1 if there can be no lock: the folder is not writable, or something else has the name.
int open_lock(const std::string& place) {
  constexpr int always = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int made = uninterrupted(
      [&] { return ::open(place.c_str(), O_RDWR | O_CREAT | always, new_file_mode); });
  if (made >= 0 || (errno != EACCES && errno != EPERM)) return made;
  // The lock's file may belong to another user, and can be locked all the same.
  return uninterrupted([&] { return ::open(place.c_str(), O_RDONLY | always); });
}

bool is_still_at(const std::string& place, const struct stat& about) {
  struct stat now {};
  return ::lstat(place.c_str(), &now) == 0 && now.st_dev == about.st_dev &&
         now.st_ino == about.st_ino;
}

// Returns whether the holder can be named, without writing through a link to another file.
bool can_name_holder(const struct stat& about) {
  return about.st_uid == ::geteuid() && about.st_nlink == 1;
}

// Writes the holder, into an empty file, for people whose runs are refused.
void write_holder(const File& file, const std::string& holder) {
  std::string text = holder.substr(0, longest_holder - 1) + "\n";
  const Slice slice{reinterpret_cast<std::byte*>(text.data()),
                    static_cast<std::int64_t>(text.size())};
  std::int64_t calls = 0;
  (void)write_slices(file, {&slice, 1}, 0, calls);
}

}  // namespace

std::string lock_path(const std::string& path) { return committed_path(path) + ".weir_lock"; }

std::string written_shares_path(const std::string& path) {
  return committed_path(path) + ".weir_shares_written";
}

Result<WriterLock> WriterLock::take_for_shares(const std::string& path) {
  return try_to_take(path, Naming::at_once, "");
}

Result<WriterLock> WriterLock::take(const std::string& path, Naming naming,
                                    const std::string& holder) {
  auto taken = try_to_take(path, naming, holder);
  if (!taken || !taken.value().is_held()) return taken;
  const std::string notes = written_shares_path(path);
  if (::unlink(notes.c_str()) == 0) {
    // The notes must not come back, after a crash of the node, once the holder has written.
    if (Status gone = sync_folder(folder_of(notes)); !gone.ok()) return gone.error();
  } else if (errno != ENOENT && errno != ENAMETOOLONG) {  // no file has too long a name
    return system_failure("unlink", notes, -1, errno);
  }
  return taken;
}

Result<WriterLock> WriterLock::try_to_take(const std::string& path, Naming naming,
                                           const std::string& holder) {
  const std::string taker = holder.empty() ? process_name() : holder;
  const std::string place = lock_path(path);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const int descriptor = open_lock(place);
    if (descriptor < 0) return WriterLock();
    File file = File::passed(descriptor, place, 0);
    struct stat about {};
    if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) return WriterLock();
    if (uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) {  // the file system has no locks
        if (about.st_size == 0) ::unlink(place.c_str());
        WriterLock none;
        none.has_no_locks_ = true;
        return none;
      }
      // A file that its holder is just removing is no longer the path's lock.
      if (!is_still_at(place, about)) continue;
      return is_taken(path, holder_in(file), taker);
    }
    if (!is_still_at(place, about)) continue;
    // An empty file is not emptied again: ext4 writes to the disk, before it closes a file, what
    // followed such a call. A killed run's name must not stay.
    const bool may_name = can_name_holder(about) && (about.st_size == 0 || file.set_length(0).ok());
    WriterLock taken(std::move(file), may_name, taker);
    if (naming == Naming::at_once) taken.name_holder();
    return taken;
  }
  return is_taken(path, "", taker);
}

WriterLock::WriterLock(WriterLock&& other) noexcept
    : file_(std::move(other.file_)), has_no_locks_(other.has_no_locks_) {}

WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
  if (this != &other) {
    release();
    file_ = std::move(other.file_);
    has_no_locks_ = other.has_no_locks_;
  }
  return *this;
}

void WriterLock::name_holder() {
  if (is_held() && std::exchange((*file_)->is_unnamed, false))
    write_holder((*file_)->file, (*file_)->holder);
}

void WriterLock::release() {
  if (file_ != nullptr) release(*file_);
  file_.reset();
}

// Removes the file while the lock is held, so that any process that opens the path later makes
// another.
void WriterLock::release(Held& held) {
  if (!held) return;
  struct stat about {};
  const File& file = held->file;
  if (!held->is_shared && ::fstat(file.descriptor(), &about) == 0 &&
      is_still_at(file.path(), about)) {
    ::unlink(file.path().c_str());
  }
  held.reset();
}

void WriterLocks::add(const WriterLock& lock, const std::string& path) {
  if (lock.has_no_locks() && !std::exchange(has_told_, true)) {
    fmt::print(
        stderr,
        "weir: the file system of {} has no locks: a second run that writes the same file is "
        "noticed only by what it has changed in it; let one run at a time write a file\n",
        printable(path));
  }
  std::erase_if(locks_, [](const auto& one) { return one.expired(); });
  if (lock.file_ != nullptr) locks_.push_back(lock.file_);
}

void WriterLocks::release() {
  for (const auto& one : locks_) {
    if (const auto held = one.lock()) WriterLock::release(*held);
  }
  locks_.clear();
}

}  // namespace weir::storage

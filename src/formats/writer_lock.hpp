// Ensures that a file has one writer at a time: a process that makes a file or adds steps to it
// holds the lock of its path until the file is closed.
//
//     take ─► (PATH.weir_lock is made, locked by flock, and names its holder) ─► removed at the end
//
// The lock lies beside the file, in every format, because the file itself is renamed when it is
// published, and because HDF5's library locks files that it reads. The system releases the lock of
// a process that ends, however it ends, so a killed run leaves a small file that stops no other
// run.
//
// If the folder is on a file system without locks, or is not writable, this class holds nothing.
// Other writers are then noticed only by the file's version (file_version.hpp), after the fact. A
// session says so once, on standard error, where the file system has no locks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

class WriterLock {
 public:
  // When the lock's file names its holder. Until then, runs that are refused are told of another
  // run. With `by_caller`, the caller calls name_holder() when no other rank waits for it.
  enum class Naming : std::uint8_t { at_once, by_caller };
  // Takes the lock. Fails, and names the holder, if another process or another open file of this
  // process writes to PATH. Does not wait. `holder`: the program for which this process takes it;
  // "": this process itself. What stagers have noted of bytes that they wrote into the file for a
  // step which is not published (written_shares_path()) is removed, since the holder may write over
  // them.
  static Result<WriterLock> take(const std::string& path, Naming naming = Naming::at_once,
                                 const std::string& holder = "");
  // Takes the lock for such a step, and leaves these notes.
  static Result<WriterLock> take_for_shares(const std::string& path);

  WriterLock() = default;  // holds nothing
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock() { release(); }

  // Takes over a lock that another process passed as its open file, and shares from then on. The
  // lock is held until both processes have released it.
  static WriterLock adopt(File file) { return WriterLock(std::move(file)); }
  // Returns the open file, to be passed to another process. Valid if is_held().
  [[nodiscard]] const File& file() const { return (*file_)->file; }
  // Leaves it to the process that adopted the lock to remove the lock's file.
  void share() { (*file_)->is_shared = true; }

  // Writes the holder's name into the lock's file, unless that was done or cannot be done.
  void name_holder();

  [[nodiscard]] bool is_held() const { return file_ != nullptr && file_->has_value(); }
  // Returns whether nothing is held because the file system has no locks.
  [[nodiscard]] bool has_no_locks() const { return has_no_locks_; }
  void release();

 private:
  friend class WriterLocks;
  struct LockFile {
    File file;
    bool is_shared = false;
    bool is_unnamed = false;  // the holder is to be named
    std::string holder = {};  // NOLINT(readability-redundant-member-init): may be left out
  };
  using Held = std::optional<LockFile>;  // nothing: it was released
  explicit WriterLock(File file, bool is_unnamed = false, const std::string& holder = "")
      : file_(std::make_shared<Held>(
            LockFile{.file = std::move(file), .is_unnamed = is_unnamed, .holder = holder})) {}
  static Result<WriterLock> try_to_take(const std::string& path, Naming naming,
                                        const std::string& holder);
  static void release(Held& held);

  std::shared_ptr<Held> file_;
  bool has_no_locks_ = false;
};

// Locks that are released together, whichever objects hold them: those of a session that is over.
// Its files stay open because they may still be in use, but are never written again.
class WriterLocks {
 public:
  // This also tells the user, once for each object of this class, if `path` is on a file system
  // without locks.
  void add(const WriterLock& lock, const std::string& path);
  void release();

 private:
  std::vector<std::weak_ptr<WriterLock::Held>> locks_;
  bool has_told_ = false;
};

// Returns the name of the file with these notes (stager/share_marks.hpp).
[[nodiscard]] std::string written_shares_path(const std::string& path);
// Returns the name of the lock's file.
[[nodiscard]] std::string lock_path(const std::string& path);

}  // namespace weir::storage

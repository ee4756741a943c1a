// One writer of a file at a time: whoever makes a file or adds steps to it holds the lock of its
// path until it is closed.
//
//     take ─► (PATH.weir_lock is made, locked by flock, and says who has it) ─► removed at the end
//
// The lock lies beside the file, in every format: the file itself is renamed when it is published,
// and HDF5's library locks files that it reads. The system takes the lock from a process that ends,
// however it ends, so what a killed run leaves is a small file that stops nobody.
//
// A folder may be on a file system without locks, or not be writable: then the value holds nothing,
// and other writers are noticed by the file's version alone (file_version.hpp), after the fact.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

class WriterLock {
 public:
  // Fails, and names who has it, when another process or another open file of this one writes to
  // PATH. Does not wait.
  static Result<WriterLock> take(const std::string& path);

  WriterLock() = default;  // holds nothing
  WriterLock(WriterLock&& other) noexcept;
  WriterLock& operator=(WriterLock&& other) noexcept;
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock() { release(); }

  [[nodiscard]] bool is_held() const { return file_ != nullptr && file_->has_value(); }
  void release();

 private:
  friend class WriterLocks;
  using Held = std::optional<File>;  // nothing: it was released
  explicit WriterLock(File file) : file_(std::make_shared<Held>(std::move(file))) {}
  static void release(Held& held);

  std::shared_ptr<Held> file_;
};

// Locks that end together, whoever has them: those of a session that is over, whose files stay open
// as they may still be in use, but are never written again.
class WriterLocks {
 public:
  void add(const WriterLock& lock);
  void release();

 private:
  std::vector<std::weak_ptr<WriterLock::Held>> locks_;
};

// The name of the lock's file.
[[nodiscard]] std::string lock_path(const std::string& path);

}  // namespace weir::storage

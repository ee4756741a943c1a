// Rank 0's right to be the only writer of a file: the lock of writers, which it may share with a
// stager, and the version that it knows the file to have. The version detects changes that the lock
// did not prevent, by another program or on a file system without locks.
//
//   take ─► check_is_unchanged ─► (rank 0 changes the file) ─► note_version ─► … ─► release
//
// The other ranks have an object that holds nothing.
#pragma once

#include <string>
#include <utility>

#include "aggregation/collective_state.hpp"
#include "aggregation/session_staging.hpp"
#include "common/status.hpp"
#include "formats/file_version.hpp"
#include "formats/writer_lock.hpp"

namespace weir::aggregation {

class SoleWriter {
 public:
  explicit SoleWriter(std::string path) : path_(std::move(path)) {}

  // Takes the lock, unless it is held. If a stager writes the file, too (`is_staged`), it keeps the
  // lock as well; on another node, it holds the lock in place of this rank.
  [[nodiscard]] Status take(CollectiveState& state, bool is_staged,
                            storage::WriterLock::Naming naming);
  // Holds a lock of the file that was taken before.
  void hold(storage::WriterLock lock) { lock_ = std::move(lock); }
  void name_holder() { lock_.name_holder(); }
  // Takes the lock that was shared with a lost stager. A stager that lives gives its part of the
  // lock up soon after the ranks have left, and removes the lock's file then: this waits for it.
  [[nodiscard]] Status take_again(CollectiveState& state);
  // Gives the lock up. The stager holds it as long as anything of the file is left to be stored.
  void release();
  // The session goes on without its stager.
  void leave_stager() { staging_ = nullptr; }

  // Fails if the file has not the noted version. A file that is not `published` has its unfinished
  // name.
  [[nodiscard]] Status check_is_unchanged(bool published) const;
  // Notes the version of what is at `place`, the file's name or its unfinished one. If the version
  // cannot be read, the next check compares only which file it is: this run still has the lock
  // under which it made its change.
  void note_version(const std::string& place);
  void set_version(storage::FileVersion version) { version_ = std::move(version); }
  // Lets check_is_unchanged() refuse the file until its version is noted again.
  void forget_version();

 private:
  std::string path_;
  storage::WriterLock lock_;
  bool stager_has_lock_ = false;       // in place of `lock_`: one of another node has taken it
  SessionStaging* staging_ = nullptr;  // not null while its stager keeps the lock, too
  storage::FileVersion version_;       // after this run last opened, laid out or changed the file
  bool knows_state_ = true;            // whether version_.state is of that time
};

}  // namespace weir::aggregation

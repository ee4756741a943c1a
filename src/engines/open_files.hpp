// The files that a process has open through an engine. A file is opened on first use; if too many
// files are open, the least recently used file is closed. Arrays that use the same file share it.
//
// OpenFiles remembers which files were written until they are made durable. Before it closes a
// written file to make room, it makes all written open files durable together
// (serial/data_file_cache.hpp). Bytes that could not be made durable are lost: the system drops
// them and reports this only once, so that a second fdatasync would succeed without them. OpenFiles
// therefore remembers each loss, and the writers (StoredFiles) query it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "engines/engine.hpp"

namespace weir::storage {

// Several processes may share the open file description File::description(). The function returns
// whether this process is the one that makes durable the bytes that all of them wrote.
using SyncedHere = std::function<bool(std::uint32_t)>;

class OpenFiles {
 public:
  // The number of open files is limited because a large set of files would exceed the process's
  // limit of descriptors.
  explicit OpenFiles(std::shared_ptr<Engine> engine, std::size_t most_open = 128);

  [[nodiscard]] Engine& engine() const { return *engine_; }

  // Returns the open file, which is valid until the next call of get() or close(). A file that was
  // opened only for reading is opened again for writing. A file that was opened as a data file of
  // another known file is opened again, too.
  Result<EngineFile*> get(const std::string& path, const Opening& opening);
  // Returns a number that changes whenever a file is closed. While it stays the same, results of
  // get() remain valid.
  [[nodiscard]] std::uint64_t closings() const { return closings_; }
  // Returns whether get() would close a file first.
  [[nodiscard]] bool closes_another(const std::string& path, const Opening& opening) const;
  // Returns the file, or null if it is not open.
  [[nodiscard]] const EngineFile* find(const std::string& path) const;

  // Marks a file that was written or is about to be written. `closing` says what happens if the
  // file is closed to make room.
  void written(const std::string& path,
               DataFileCache::Closing closing = DataFileCache::Closing::makes_durable) {
    written_[path] = {Mark::is_there, closing};
  }
  // Returns a number that grows whenever marks of written() are removed and whenever bytes are
  // lost. A mark remains in place as long as the number stays the same.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  // Returns the error that may have lost bytes that were written to the file in the generation
  // `since` or later, or null if no bytes were lost.
  [[nodiscard]] const Error* loss_since(const std::string& path, std::uint64_t since) const;
  // Records that bytes written to the file so far are lost because of `error`. It is also called if
  // the process shares its open file with others and one of them failed to make it durable.
  void lose(const std::string& path, const Error& error);
  // Makes durable those of the files that were written, and their names. `synced_here` may be given
  // if all processes that share open files are known to have finished writing; otherwise each
  // process syncs.
  Status sync(std::span<const std::string> paths, const SyncedHere& synced_here = nullptr);
  // Closes the file. Succeeds if it is not open.
  Status close(const std::string& path);
  // Closes a file of a step that failed. Before the step begins again, another process may remove
  // the file or create another file of that name. sync() therefore ignores the file if it is
  // missing, until this process writes to it again.
  Status abandon(const std::string& path);
  [[nodiscard]] std::int64_t open_files() const { return static_cast<std::int64_t>(files_.size()); }

 private:
  struct Open {
    std::unique_ptr<EngineFile> file;
    bool writable = false;
    std::optional<FileIdentity> known;  // identity in the Opening
    std::list<std::string>::iterator use;
  };
  Status close_oldest();
  // Makes durable the open files that have been written and whose `closing` does not leave this to
  // sync().
  Status sync_open();
  [[nodiscard]] static bool serves(const Open& open, const Opening& opening);

  std::shared_ptr<Engine> engine_;
  std::size_t most_open_;
  std::unordered_map<std::string, Open> files_;
  std::list<std::string> uses_;  // paths, the most recently used first
  enum class Mark : std::uint8_t { is_there, may_be_removed };
  struct Written {
    Mark mark = Mark::is_there;
    DataFileCache::Closing closing = DataFileCache::Closing::makes_durable;
  };
  std::map<std::string, Written> written_;
  std::set<std::string> changed_folders_;
  struct Loss {
    std::uint64_t generation = 0;
    Error error;
  };
  std::unordered_map<std::string, Loss> losses_;  // the latest loss of each path
  std::uint64_t generation_ = 0;
  std::uint64_t closings_ = 0;
};

}  // namespace weir::storage

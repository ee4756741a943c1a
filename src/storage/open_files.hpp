// The files that a process has open, by an engine: opened on first use, the one that was not used
// for longest closed when they are too many. Arrays of one file share it.
//
// OpenFiles remembers what was written until that is made durable, and files that were written are
// made durable before they are closed to make room, all that are open together
// (serial/data_file_cache.hpp). What could not be made durable is lost: the system drops the bytes
// and says so once, so that a second fdatasync would succeed without them. OpenFiles therefore
// remembers each loss, and those who wrote (StoredFiles) ask for it.
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
#include "storage/engines/engine.hpp"
#include "storage/serial/data_file_cache.hpp"

namespace weir::storage {

// Whether this process, of those that have the open file File::description(), is to make durable
// what they all wrote.
using SyncedHere = std::function<bool(std::uint32_t)>;

class OpenFiles {
 public:
  // A process that has all files of a large set open would meet its limit of descriptors.
  explicit OpenFiles(std::shared_ptr<Engine> engine, std::size_t most_open = 128);

  [[nodiscard]] Engine& engine() const { return *engine_; }

  // The open file, until the next call of this or of close(). A file that was opened for reading
  // alone is opened again for writing, and so is one that was opened as a data file of another
  // known file.
  Result<EngineFile*> get(const std::string& path, const Opening& opening);
  // Changes whenever a file is closed: until then what get() gave stays.
  [[nodiscard]] std::uint64_t closings() const { return closings_; }
  // Whether get() would close a file first.
  [[nodiscard]] bool closes_another(const std::string& path, const Opening& opening) const;
  // The file if it is open.
  [[nodiscard]] const EngineFile* find(const std::string& path) const;

  // The file was or will now be written to. `closing`: of it, where it is closed to make room.
  void written(const std::string& path,
               DataFileCache::Closing closing = DataFileCache::Closing::makes_durable) {
    written_[path] = {Mark::is_there, closing};
  }
  // Grows whenever marks of written() are taken away and whenever bytes are lost. A mark holds as
  // long as the number stays.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  // The failure by which bytes may be lost that were written to the file in the generation `since`
  // or later; null: none are.
  [[nodiscard]] const Error* loss_since(const std::string& path, std::uint64_t since) const;
  // By `error` bytes are lost that were written to the file until now. A process that shares its
  // open file with others is told so when one of them has failed to make it durable.
  void lose(const std::string& path, const Error& error);
  // Makes those of the files durable that were written, with their names. `synced_here`: where all
  // processes that share open files are known to have finished writing; else each does.
  Status sync(std::span<const std::string> paths, const SyncedHere& synced_here = nullptr);
  // Succeeds when the file is not open.
  Status close(const std::string& path);
  // Closes the file of a step that failed. Another process may remove it, or make another file of
  // that name, before the step is begun again: sync() passes over a missing one until this process
  // writes to it again.
  Status abandon(const std::string& path);
  [[nodiscard]] std::int64_t open_files() const { return static_cast<std::int64_t>(files_.size()); }

 private:
  struct Open {
    std::unique_ptr<EngineFile> file;
    bool writable = false;
    std::optional<FileIdentity> known;  // of the opening
    std::list<std::string>::iterator use;
  };
  Status close_oldest();
  // Makes durable the files that are open, have been written and are not left to sync().
  Status sync_open();
  [[nodiscard]] static bool serves(const Open& open, const Opening& opening);

  std::shared_ptr<Engine> engine_;
  std::size_t most_open_;
  std::unordered_map<std::string, Open> files_;
  std::list<std::string> uses_;  // paths, the latest used first
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
  std::unordered_map<std::string, Loss> losses_;  // the latest of each path
  std::uint64_t generation_ = 0;
  std::uint64_t closings_ = 0;
};

}  // namespace weir::storage

// The data files of one opened file or array. Each is opened at its first transfer, and at most a
// few are open at a time. The class is thread-safe.
//
// Closing a written file does not make it durable, and the system reports a failure to write its
// bytes to storage only to processes that have the file open. Files that are closed to make room
// are therefore made durable first, in groups, so that their bytes are written concurrently. Bytes
// that could not be made durable are lost: sync() then fails until forget_losses() is called.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"
#include "system/known_file.hpp"
#include "system/slices.hpp"

namespace weir::storage {

class DataFileCache {
 public:
  enum class Use : std::uint8_t { reading, writing };
  // Says whether files that are closed to make room are made durable first. If they are not,
  // because durability was not requested, sync() must commit the whole file system, and earlier
  // failures may not be reported to it.
  enum class Closing : std::uint8_t { makes_durable, leaves_to_sync };

  // `mover` moves the bytes; if it is null, the system does.
  explicit DataFileCache(Use use, std::shared_ptr<const SliceMover> mover = nullptr,
                         Closing closing = Closing::makes_durable);

  // Returns the file, which stays open as long as the result exists. For writing, a missing file is
  // created with `bytes_when_made` bytes if that is not 0. For reading, a missing file is an error
  // with ENOENT. Opening fails if the file `known` has been replaced; if `known` is null, no check
  // is made.
  Result<std::shared_ptr<const File>> get(const std::string& path, std::int64_t bytes_when_made,
                                          const KnownFile* known = nullptr);
  // Write and read bytes of a section, in files that get() returned and in other files that contain
  // parts of the array. A write of fewer bytes than the slices have is an error. `bytes` becomes
  // the number of bytes read, which is less than requested only if the file ends.
  Status write(const File& file, std::span<const Slice> slices, std::int64_t offset) const;
  Status read(const File& file, std::span<const Slice> slices, std::int64_t offset,
              std::int64_t& bytes) const;
  [[nodiscard]] const std::shared_ptr<const SliceMover>& mover() const { return mover_; }
  // Takes ownership of a file that was written by other means and has its final name. Other
  // processes may have replaced the file since then.
  Status keep_written(File file);
  // Records that names in a folder were changed by other means.
  void changed_folder(const std::string& folder);
  // Makes the files of keep_written() durable and closes them, so that they do not stay open if an
  // array has thousands of files.
  Status close_kept();
  // Makes durable the data that was written through this cache and the names of files that it
  // created. All files are in one file system.
  Status sync();
  // Forgets earlier losses. The caller must write again all data that may be lost.
  void forget_losses();

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<File> file;
    bool is_unsynced = false;

    // The result cannot become true in the meantime, because other threads get the file only from
    // this entry.
    [[nodiscard]] bool is_in_use() const { return file.use_count() > 1; }
  };

  // The caller of each of the following functions holds the mutex.
  // Returns the open file, or null.
  std::shared_ptr<const File> find(const std::string& path);
  Status close_one();
  Status close_all_kept();
  // Makes the open files durable and remembers a failure.
  Status sync_open();

  Use use_;
  std::shared_ptr<const SliceMover> mover_;
  Closing closing_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_path_;
  std::vector<File> kept_;
  std::set<std::string> changed_folders_;
  // The folder of a file that was closed before it was durable; "": none. The file may have been
  // removed since, with the step that it was of.
  std::string closed_unsynced_;
  Status lost_;  // the failure by which bytes were lost
};

}  // namespace weir::storage

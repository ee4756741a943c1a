// The data files of one opened file or array, each opened when it is first moved to or from, and at
// most a few of them open at a time. Safe for threads.
//
// Closing a file that was written does not make it durable, and a failure of its bytes on their way
// to the storage is told only to who has it open. So files that are closed along the way are made
// durable before, a group at a time, as their bytes are then on the way together. What could not be
// made durable is lost: sync() fails from then on, until forget_losses().
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
#include "storage/engines/file.hpp"
#include "storage/engines/slices.hpp"
#include "storage/known_file.hpp"

namespace weir::storage {

class DataFileCache {
 public:
  enum class Use : std::uint8_t { reading, writing };
  // Whether files that are closed along the way are made durable. Where they are not, as nobody
  // asks for durability, sync() has to commit the whole file system, and may not be told of what
  // failed before.
  enum class Closing : std::uint8_t { makes_durable, leaves_to_sync };

  // `mover`: what moves the bytes; null: the system.
  explicit DataFileCache(Use use, std::shared_ptr<const SliceMover> mover = nullptr,
                         Closing closing = Closing::makes_durable);

  // The file, open as long as the result lives. Writing, a file that is missing is made
  // `bytes_when_made` long when that is not 0; reading, a missing file is an error with ENOENT.
  // `known`: opening fails where that one has been replaced; null: nothing is compared.
  Result<std::shared_ptr<const File>> get(const std::string& path, std::int64_t bytes_when_made,
                                          const KnownFile* known = nullptr);
  // Bytes of a section are written through these two, to files that get() gave and to others that
  // hold parts of the array. A write that took fewer bytes than the slices have is an error;
  // `bytes` becomes what was read, less than asked for only where the file ends.
  Status write(const File& file, std::span<const Slice> slices, std::int64_t offset) const;
  Status read(const File& file, std::span<const Slice> slices, std::int64_t offset,
              std::int64_t& bytes) const;
  [[nodiscard]] const std::shared_ptr<const SliceMover>& mover() const { return mover_; }
  // Takes over a file that was written by other means and has its name. Safe with a file that
  // others have replaced since.
  Status keep_written(File file);
  // The names in a folder were changed by other means.
  void changed_folder(const std::string& folder);
  // Makes the files of keep_written() durable and closes them, so that none stay open where an
  // array has thousands.
  Status close_kept();
  // Makes durable what was written through this cache, with the names of files that it made; its
  // files are of one file system.
  Status sync();
  // The caller writes again whatever may be lost.
  void forget_losses();

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<File> file;
    bool is_unsynced = false;

    // Nobody else can get the file meanwhile, as they get it from here.
    [[nodiscard]] bool is_in_use() const { return file.use_count() > 1; }
  };

  // All that follow are called under the mutex.
  // The open file, or null.
  std::shared_ptr<const File> find(const std::string& path);
  Status close_one();
  Status close_all_kept();
  // Makes the open files durable; a failure is remembered.
  Status sync_open();

  Use use_;
  std::shared_ptr<const SliceMover> mover_;
  Closing closing_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_path_;
  std::vector<File> kept_;
  std::set<std::string> changed_folders_;
  std::string closed_unsynced_;  // one of the files that were; "": none
  Status lost_;                  // why what was written is not durable
};

}  // namespace weir::storage

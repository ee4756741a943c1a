// The data files of one opened file or array, each opened when it is first moved to or from, and at
// most a few of them open at a time. Safe for threads.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "common/status.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/slices.hpp"
#include "storage/known_file.hpp"

namespace weir::storage {

class DataFileCache {
 public:
  enum class Use : std::uint8_t { reading, writing };

  // `mover`: what moves the bytes; null: the system.
  explicit DataFileCache(Use use, std::shared_ptr<const SliceMover> mover = nullptr);

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
  // What was written to this file by other means is to be made durable too. Its descriptor is not
  // kept: chunk files are thousands.
  void written(const std::string& path);
  // Makes durable what was written through this cache; its files are of one file system.
  Status sync();

 private:
  struct Entry {
    std::string path;
    std::shared_ptr<const File> file;
  };

  // The open file, or null. Under the mutex.
  std::shared_ptr<const File> find(const std::string& path);

  Use use_;
  std::shared_ptr<const SliceMover> mover_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_path_;
  std::string unsynced_;  // one of the files that were written and are not open; "": none
};

}  // namespace weir::storage

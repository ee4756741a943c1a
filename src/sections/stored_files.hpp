// The data files of one array and the transfers of this process to and from them. A file is opened
// on its first transfer through the engine of `OpenFiles`, which several arrays share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checksums/array_sums.hpp"
#include "common/status.hpp"
#include "engines/engine.hpp"
#include "engines/open_files.hpp"
#include "stored/extent_map.hpp"
#include "stored/stored_range.hpp"
#include "system/slices.hpp"

namespace weir::storage {

class StoredFiles {
 public:
  StoredFiles(DataFiles files, bool writable, std::shared_ptr<OpenFiles> open);

  [[nodiscard]] const DataFiles& files() const { return files_; }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] Engine& engine() const { return open_->engine(); }

  // Sets how files are opened. It is used only for an array with one file that exists from the time
  // of its layout.
  void set_opener(FileOpener opener) { opener_ = std::move(opener); }
  // Sets what happens to files that are closed to make room for others.
  void set_closing(DataFileCache::Closing closing) { closing_ = closing; }
  // Sets the checksums that get every transfer, or null for none.
  void set_sums(ArraySums* sums) { sums_ = sums; }

  // Writes ranges that do not overlap. A file that may be missing is created with its full length
  // if it is missing; several processes may do so at the same time.
  Status write(std::span<const StoredRange> ranges, FileTraffic& traffic);
  Status write(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
               FileTraffic& traffic);
  // Fails with short_transfer if a file ends early. Call is_there() before reading a file that may
  // be missing.
  Status read(std::span<const StoredRange> ranges, FileTraffic& traffic);
  // `discarded` is that of a StoredRange.
  Status read(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
              FileTraffic& traffic, const std::byte* discarded = nullptr);
  // Returns false if the file may be missing and is missing; its elements then have the fill value.
  Result<bool> is_there(std::int64_t file);

  // Returns whether a recent read of the file had to wait for storage.
  [[nodiscard]] bool cold(std::int64_t file) const;
  // Returns whether the file of the last transfer is cold.
  [[nodiscard]] bool cold() const { return last_.number >= 0 && cold(last_.number); }

  // Returns EngineFile::gains_from_batches() of the file of the last transfer, or of `file` if that
  // one is not open. A transfer of `file` follows, so this opens it.
  Result<bool> gains_from_batches(std::int64_t file, bool writing);

  // Makes durable the data that this process wrote and the names of files that it created; see
  // OpenFiles. After a loss of bytes, each call fails until forget_losses() is called.
  Status sync(const SyncedHere& synced_here = nullptr);
  // Forgets earlier losses. The caller must write again all data that may be lost.
  void forget_losses();
  // Closes the files even if other arrays use them too; these arrays open them again. Returns the
  // first error.
  Status close();
  // Closes files that other files may replace; see OpenFiles::abandon().
  Status abandon();

 private:
  struct Last {
    std::int64_t number = -1;
    EngineFile* file = nullptr;
    std::uint64_t closings = 0;
  };
  [[nodiscard]] Opening opening() const {
    Opening opening{.write = writable_,
                    .bytes_when_made = writable_ ? files_.bytes_when_made() : 0,
                    .known = files_.known()};
    if (files_.files() == 1 && files_.bytes_when_made() == 0) opening.opener = &opener_;
    return opening;
  }
  Result<EngineFile*> opened(std::int64_t number);
  template <typename Move>
  Status move(std::span<const StoredRange> ranges, FileTraffic& traffic, const Move& move);

  DataFiles files_;
  bool writable_;
  std::shared_ptr<OpenFiles> open_;
  FileOpener opener_;
  DataFileCache::Closing closing_ = DataFileCache::Closing::makes_durable;
  Last last_;                    // most transfers use the same file as the previous one
  std::set<std::int64_t> used_;  // files used since the last close
  // Files written since the last sync, with the generation of OpenFiles of the first write.
  std::map<std::int64_t, std::uint64_t> written_;
  // Files that are marked as written in OpenFiles, as long as its generation equals marked_in_.
  std::set<std::int64_t> marked_;
  std::uint64_t marked_in_ = 0;
  std::vector<FileRange> ranges_;
  ArraySums* sums_ = nullptr;
};

}  // namespace weir::storage

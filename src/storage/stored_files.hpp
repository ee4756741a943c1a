// The data files of one array, as a process moves bytes of them: opened on first transfer, by the
// engine of `OpenFiles`, which arrays share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/engines/engine.hpp"
#include "storage/engines/slices.hpp"
#include "storage/formats/extent_map.hpp"
#include "storage/open_files.hpp"
#include "storage/transfer_watch.hpp"

namespace weir::storage {

class StoredFiles {
 public:
  StoredFiles(DataFiles files, bool writable, std::shared_ptr<OpenFiles> open);

  [[nodiscard]] const DataFiles& files() const { return files_; }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] Engine& engine() const { return open_->engine(); }

  // Where descriptors may come from: only of one file that is there when it is laid out.
  void set_shared(const SharedOpening& shared) { shared_ = shared; }
  // What happens to files that are closed to make room for others.
  void set_closing(DataFileCache::Closing closing) { closing_ = closing; }
  // Sets the watch that is told of every transfer; null: none is.
  void set_watch(TransferWatch* watch) { watch_ = watch; }

  // Writes ranges that do not overlap. A missing file of those that may be missing is made with its
  // full length, also when several processes do so at once.
  Status write(std::span<const StoredRange> ranges, FileTraffic& traffic);
  Status write(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
               FileTraffic& traffic);
  // Fails with short_transfer where a file ends early. Who reads files that may be missing asks
  // is_there() before.
  Status read(std::span<const StoredRange> ranges, FileTraffic& traffic);
  // `discarded`: as of a StoredRange.
  Status read(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
              FileTraffic& traffic, const std::byte* discarded = nullptr);
  // False for a file that may be missing and is: its elements have the fill value.
  Result<bool> is_there(std::int64_t file);

  // Whether reading the file lately had to wait for storage.
  [[nodiscard]] bool cold(std::int64_t file) const;
  // Whether the file that was last moved to or from is cold.
  [[nodiscard]] bool cold() const { return last_.number >= 0 && cold(last_.number); }

  // EngineFile::gains_from_batches() of that file.
  [[nodiscard]] bool gains_from_batches(bool writing) const {
    return last_.number >= 0 && open_->closings() == last_.closings &&
           last_.file->gains_from_batches(writing);
  }

  // Makes what this process wrote durable, and the names of files that it made; see OpenFiles. Once
  // bytes are lost, each later call fails, until forget_losses().
  Status sync(const SyncedHere& synced_here = nullptr);
  // The caller writes again whatever may be lost.
  void forget_losses();
  // Closes the files, whichever array uses them too: these open them again. The first error.
  Status close();
  // Closes the files where others may take their place: OpenFiles::abandon().
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
    if (files_.files() == 1 && files_.bytes_when_made() == 0) opening.shared = shared_;
    return opening;
  }
  Result<EngineFile*> opened(std::int64_t number);
  template <typename Move>
  Status move(std::span<const StoredRange> ranges, FileTraffic& traffic, const Move& move);

  DataFiles files_;
  bool writable_;
  std::shared_ptr<OpenFiles> open_;
  SharedOpening shared_;
  DataFileCache::Closing closing_ = DataFileCache::Closing::makes_durable;
  Last last_;                    // most transfers are in the file of the one before
  std::set<std::int64_t> used_;  // since the last close
  // Files written since the last sync, with the generation of OpenFiles in which they first were.
  std::map<std::int64_t, std::uint64_t> written_;
  // Files that OpenFiles knows to be written, as long as its generation is this.
  std::set<std::int64_t> marked_;
  std::uint64_t marked_in_ = 0;
  std::vector<FileRange> ranges_;
  TransferWatch* watch_ = nullptr;
};

}  // namespace weir::storage

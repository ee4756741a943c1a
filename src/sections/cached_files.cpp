#include "sections/cached_files.hpp"

#include <utility>

#include "engines/cold_reading.hpp"
#include "stored/read_range.hpp"
#include "system/slices.hpp"

namespace weir::storage {

Result<bool> CachedFiles::read(const StoredRange& range) {
  if (Status opened = open_for_reading(range.file); !opened.ok()) return opened.error();
  if (open_ == nullptr) {
    if (verifier_ == nullptr) return false;
    Status missing = verifier_->is_missing(range.file);
    return missing.ok() ? Result<bool>(false) : missing.error();
  }
  Status status = read_whole(files_, *open_, range.slices, range.offset);
  if (status.ok() && verifier_ != nullptr) status = verifier_->has_read(range);
  return status.ok() ? Result<bool>(true) : status.error();
}

Status CachedFiles::write(const StoredRange& range) {
  if (range.file != last_) {
    auto open =
        files_.get(map_.files.path(range.file), map_.files.bytes_when_made(), map_.files.known());
    if (!open) return open.error();
    open_ = std::move(open).value();
    last_ = range.file;
  }
  if (sums_ != nullptr) {
    sums_->add(range.file, range.offset, bytes_of(range.slices), range.slices);
  }
  return files_.write(*open_, range.slices, range.offset);
}

// If the file cannot be opened, the read that follows reports it.
bool CachedFiles::is_cold(std::int64_t file, std::int64_t offset) {
  return open_for_reading(file).ok() && open_ != nullptr && waits_for_storage(*open_, offset);
}

// Sets open_ to null if the file is missing and may be.
Status CachedFiles::open_for_reading(std::int64_t file) {
  if (file == last_ && open_ != nullptr) return {};
  auto open = open_to_read(map_, files_, file);
  if (!open) return open.error();
  open_ = std::move(open).value();
  last_ = file;
  return {};
}

}  // namespace weir::storage

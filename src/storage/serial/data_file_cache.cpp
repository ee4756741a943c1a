#include "storage/serial/data_file_cache.hpp"

#include <utility>

#include "storage/engines/system_file.hpp"
#include "storage/moved_all.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t most_open = 64;

Result<File> open_file(const std::string& path, DataFileCache::Use use, std::int64_t bytes) {
  if (use == DataFileCache::Use::reading) return File::open(path, {});
  auto file = File::open(path, {.read = true, .write = true, .create = bytes > 0});
  if (!file || bytes == 0) return file;
  if (Status own = check_is_no_link(file.value()); !own.ok()) return own.error();
  // Whoever else makes the same file gives it the same length.
  if (Status longer = file.value().lengthen(bytes); !longer.ok()) return longer.error();
  return file;
}

}  // namespace

DataFileCache::DataFileCache(Use use, std::shared_ptr<const SliceMover> mover)
    : use_(use), mover_(mover != nullptr ? std::move(mover) : std::make_shared<SliceMover>()) {}

Status DataFileCache::write(const File& file, std::span<const Slice> slices,
                            std::int64_t offset) const {
  std::int64_t bytes = 0;
  Status written = mover_->write(file, slices, offset, bytes);
  return written.ok() ? moved_all(bytes_of(slices), bytes, file.path(), offset) : written;
}

Status DataFileCache::read(const File& file, std::span<const Slice> slices, std::int64_t offset,
                           std::int64_t& bytes) const {
  return mover_->read(file, slices, offset, bytes);
}

std::shared_ptr<const File> DataFileCache::find(const std::string& path) {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return entries_.front().file;
}

Result<std::shared_ptr<const File>> DataFileCache::get(const std::string& path,
                                                       std::int64_t bytes_when_made,
                                                       const KnownFile* known) {
  {
    const std::lock_guard lock(mutex_);
    if (auto file = find(path)) return file;
  }
  // Opening may wait for a server; other threads go on meanwhile.
  auto opened = open_file(path, use_, bytes_when_made);
  if (Status is_known = check_is_known(known, path, opened); !is_known.ok()) {
    return is_known.error();
  }
  if (!opened) return opened.error();
  const std::lock_guard lock(mutex_);
  if (auto file = find(path)) return file;
  if (entries_.size() >= most_open) {
    if (use_ == Use::writing) unsynced_ = entries_.back().path;
    by_path_.erase(entries_.back().path);
    entries_.pop_back();
  }
  entries_.push_front({path, std::make_shared<const File>(std::move(opened).value())});
  by_path_[path] = entries_.begin();
  return entries_.front().file;
}

void DataFileCache::written(const std::string& path) {
  const std::lock_guard lock(mutex_);
  unsynced_ = path;
}

Status DataFileCache::sync() {
  const std::lock_guard lock(mutex_);
  if (unsynced_.empty()) {
    for (const Entry& one : entries_) {
      if (Status durable = one.file->sync_data(); !durable.ok()) return durable;
    }
    return {};
  }
  // Thousands of files of chunks: one commit of the file system instead of one for each.
  auto one = File::open(unsynced_, {});
  if (!one) return one.error();
  if (Status synced = one.value().sync_file_system(); !synced.ok()) return synced;
  unsynced_.clear();
  return {};
}

}  // namespace weir::storage

#include "engines/data_file_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "engines/system_file.hpp"
#include "system/incomplete.hpp"
#include "system/moved_all.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t most_open = 64;
// This limit is low because each array of a file may have so many.
constexpr std::size_t most_kept = 8;

}  // namespace

DataFileCache::DataFileCache(Use use, std::shared_ptr<const SliceMover> mover, Closing closing)
    : use_(use),
      mover_(mover != nullptr ? std::move(mover) : std::make_shared<SliceMover>()),
      closing_(closing) {}

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
  entries_.front().is_unsynced = use_ == Use::writing;
  return entries_.front().file;
}

Result<std::shared_ptr<const File>> DataFileCache::get(const std::string& path,
                                                       std::int64_t bytes_when_made,
                                                       const KnownFile* known) {
  {
    const std::lock_guard lock(mutex_);
    if (auto file = find(path)) return file;
  }
  // Opening may wait for a server; other threads can use the cache in the meantime.
  auto opened = open_system_file(
      path, {.write = use_ == Use::writing, .bytes_when_made = bytes_when_made, .known = known});
  if (!opened) return opened.error();
  const std::lock_guard lock(mutex_);
  const auto& changed = opened.value().changed_folders;
  changed_folders_.insert(changed.begin(), changed.end());
  if (auto file = find(path)) return file;
  if (entries_.size() >= most_open) {
    if (Status closed = close_one(); !closed.ok()) return closed.error();
  }
  entries_.push_front({path, std::make_shared<File>(std::move(opened.value().file))});
  by_path_[path] = entries_.begin();
  return find(path);
}

// Closes the least recently used file that is not in use. If all are in use, closes none, so that
// one more file is open.
Status DataFileCache::close_one() {
  const auto unused = std::find_if(entries_.rbegin(), entries_.rend(),
                                   [](const Entry& one) { return !one.is_in_use(); });
  if (unused == entries_.rend()) return {};
  const auto oldest = std::prev(unused.base());
  if (oldest->is_unsynced && closing_ == Closing::makes_durable) {
    if (Status durable = sync_open(); !durable.ok()) return durable;
  }
  if (oldest->is_unsynced) closed_unsynced_ = folder_of(oldest->path);
  Status closed = use_ == Use::writing ? oldest->file->close() : Status();
  by_path_.erase(oldest->path);
  entries_.erase(oldest);
  if (!closed.ok()) lost_ = closed;
  return closed;
}

Status DataFileCache::sync_open() {
  std::vector<const File*> files;
  files.reserve(entries_.size() + kept_.size());
  for (const Entry& one : entries_) {
    if (one.is_unsynced) files.push_back(one.file.get());
  }
  for (const File& one : kept_) files.push_back(&one);
  if (Status durable = sync_data(files); !durable.ok()) {
    lost_ = durable;
    return durable;
  }
  for (Entry& one : entries_) one.is_unsynced = one.is_unsynced && one.is_in_use();
  return {};
}

Status DataFileCache::keep_written(File file) {
  const std::lock_guard lock(mutex_);
  if (closing_ == Closing::leaves_to_sync) {
    closed_unsynced_ = folder_of(file.path());
    Status closed = file.close();
    if (!closed.ok()) lost_ = closed;
    return closed;
  }
  kept_.push_back(std::move(file));
  return kept_.size() < most_kept ? Status() : close_all_kept();
}

void DataFileCache::changed_folder(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  changed_folders_.insert(folder);
}

Status DataFileCache::close_kept() {
  const std::lock_guard lock(mutex_);
  return close_all_kept();
}

Status DataFileCache::close_all_kept() {
  if (kept_.empty()) return {};
  Status status = sync_open();
  for (File& one : kept_) {
    Status closed = one.close();
    if (status.ok()) status = std::move(closed);
  }
  kept_.clear();
  if (!status.ok()) lost_ = status;
  return status;
}

Status DataFileCache::sync() {
  const std::lock_guard lock(mutex_);
  if (!lost_.ok()) return lost_;
  Status durable = kept_.empty() ? sync_open() : close_all_kept();
  if (!durable.ok()) return durable;
  if (!closed_unsynced_.empty()) {
    auto one = File::open(closed_unsynced_, {});
    if (!one) return one.error();
    lost_ = one.value().sync_file_system();
    if (!lost_.ok()) return lost_;
    closed_unsynced_.clear();
  }
  while (!changed_folders_.empty()) {
    // A folder that is missing was renamed, with everything in it, before it was durable.
    Status synced = sync_folder(*changed_folders_.begin());
    if (!synced.ok() && synced.error().system_error != ENOENT) return synced;
    changed_folders_.erase(changed_folders_.begin());
  }
  return {};
}

void DataFileCache::forget_losses() {
  const std::lock_guard lock(mutex_);
  lost_ = {};
}

}  // namespace weir::storage

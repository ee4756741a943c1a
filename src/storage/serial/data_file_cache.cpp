#include "storage/serial/data_file_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace weir::storage {
namespace {

constexpr std::size_t most_open = 64;

Status make_durable(const File& file) {
  int failed = 0;
  do {
    failed = ::fdatasync(file.descriptor());
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return system_failure("fdatasync", file.path(), -1, errno);
  return {};
}

Result<File> open_file(const std::string& path, DataFileCache::Use use, std::int64_t bytes) {
  if (use == DataFileCache::Use::reading) return File::open(path, {});
  auto file = File::open(path, {.read = true, .write = true, .create = bytes > 0});
  if (!file || bytes == 0) return file;
  struct stat information {};
  if (::fstat(file.value().descriptor(), &information) != 0) {
    return system_failure("stat", path, -1, errno);
  }
  // Whoever else makes the same file gives it the same length.
  if (information.st_size < bytes && ::ftruncate(file.value().descriptor(), bytes) != 0) {
    return system_failure("ftruncate", path, bytes, errno);
  }
  return file;
}

}  // namespace

Result<std::shared_ptr<const File>> DataFileCache::get(const std::string& path,
                                                       std::int64_t bytes_when_made) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_path_.find(path); found != by_path_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front().file;
  }
  auto opened = open_file(path, use_, bytes_when_made);
  if (!opened) return opened.error();
  if (entries_.size() >= most_open) {
    // What is closed here is no longer known to sync().
    if (use_ == Use::writing) {
      if (Status durable = make_durable(*entries_.back().file); !durable.ok()) {
        return durable.error();
      }
    }
    by_path_.erase(entries_.back().path);
    entries_.pop_back();
  }
  entries_.push_front({path, std::make_shared<const File>(std::move(opened).value())});
  by_path_[path] = entries_.begin();
  return entries_.front().file;
}

Status DataFileCache::sync() {
  const std::lock_guard lock(mutex_);
  for (const Entry& one : entries_) {
    if (Status durable = make_durable(*one.file); !durable.ok()) return durable;
  }
  return {};
}

}  // namespace weir::storage

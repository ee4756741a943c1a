#include "engines/open_files.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "system/incomplete.hpp"

namespace weir::storage {

OpenFiles::OpenFiles(std::shared_ptr<Engine> engine, std::size_t most_open)
    : engine_(std::move(engine)), most_open_(std::max<std::size_t>(1, most_open)) {}

bool OpenFiles::serves(const Open& open, const Opening& opening) {
  if (opening.known != nullptr && open.known && *open.known != opening.known->identity) {
    return false;  // the path leads to another file now, or did so when this file was opened
  }
  return open.writable || !opening.write;
}

Result<EngineFile*> OpenFiles::get(const std::string& path, const Opening& opening) {
  const auto found = files_.find(path);
  if (found != files_.end() && serves(found->second, opening)) {
    uses_.splice(uses_.begin(), uses_, found->second.use);
    return found->second.file.get();
  }
  if (found != files_.end()) {
    if (Status closed = close(path); !closed.ok()) return closed.error();
  } else if (files_.size() >= most_open_) {
    if (Status closed = close_oldest(); !closed.ok()) return closed.error();
  }
  auto file = engine_->open(path, opening);
  if (!file) return file.error();
  const auto& changed = file.value()->changed_folders();
  changed_folders_.insert(changed.begin(), changed.end());
  if (!changed.empty()) written(path);
  uses_.push_front(path);
  Open& open = files_[path];
  open = {std::move(file).value(), opening.write, std::nullopt, uses_.begin()};
  if (opening.known != nullptr) open.known = opening.known->identity;
  return open.file.get();
}

bool OpenFiles::closes_another(const std::string& path, const Opening& opening) const {
  const auto found = files_.find(path);
  return found == files_.end() ? files_.size() >= most_open_ : !serves(found->second, opening);
}

const EngineFile* OpenFiles::find(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second.file.get();
}

Status OpenFiles::close(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end()) return {};
  ++closings_;
  Status closed = found->second.file->close();
  // Network file systems and quotas report lost bytes when a file is closed.
  if (!closed.ok() && written_.contains(path)) lose(path, closed.error());
  uses_.erase(found->second.use);
  files_.erase(found);
  return closed;
}

Status OpenFiles::abandon(const std::string& path) {
  Status closed = close(path);
  const auto found = written_.find(path);
  if (found != written_.end()) found->second.mark = Mark::may_be_removed;
  return closed;
}

const Error* OpenFiles::loss_since(const std::string& path, std::uint64_t since) const {
  const auto found = losses_.find(path);
  return found != losses_.end() && found->second.generation > since ? &found->second.error
                                                                    : nullptr;
}

void OpenFiles::lose(const std::string& path, const Error& error) {
  losses_[path] = {++generation_, error};
}

Status OpenFiles::close_oldest() {
  const std::string oldest = uses_.back();
  const auto written = written_.find(oldest);
  if (written != written_.end() &&
      written->second.closing == DataFileCache::Closing::makes_durable) {
    if (Status synced = sync_open(); !synced.ok()) return synced;
  }
  return close(oldest);
}

Status OpenFiles::sync_open() {
  std::vector<std::string> paths;
  std::vector<EngineFile*> files;
  for (const auto& [path, open] : files_) {
    const auto written = written_.find(path);
    if (written == written_.end() ||
        written->second.closing != DataFileCache::Closing::makes_durable)
      continue;
    paths.push_back(path);
    files.push_back(open.file.get());
  }
  Status synced = engine_->sync(files);
  for (const std::string& path : paths) {
    if (synced.ok()) {
      written_.erase(path);
    } else {
      lose(path, synced.error());  // the engine reports one failure, not the affected files
    }
  }
  ++generation_;
  return synced;
}

Status OpenFiles::sync(std::span<const std::string> paths, const SyncedHere& synced_here) {
  // Syncs groups of as many files as may be open at the same time. A file that was closed is opened
  // again.
  std::vector<std::string> group;
  const auto sync_group = [&]() -> Status {
    std::vector<EngineFile*> files;
    for (const std::string& path : group) {
      // Where bytes are handed over, a closed file has nothing left to make durable. Opened again,
      // it would later serve writes without the length with which a missing file is to be made.
      if (!engine_->abilities().in_file_system && !files_.contains(path)) continue;
      auto file = get(path, {.write = true});
      if (!file) {
        const auto written = written_.find(path);
        // A stager, which leaves this to sync(), is not told of the files of a step that was given
        // up, or dropped: rank 0 removes them. While one is still open, its removal is not noticed.
        const bool may_be_removed =
            written != written_.end() &&
            (written->second.mark == Mark::may_be_removed ||
             written->second.closing == DataFileCache::Closing::leaves_to_sync);
        if (may_be_removed && file.error().system_error == ENOENT) continue;
        return file.error();
      }
      const std::uint32_t description = file.value()->description();
      const bool by_another = synced_here && description != 0 && !synced_here(description);
      if (!by_another) files.push_back(file.value());
    }
    Status synced = engine_->sync(files);
    if (!synced.ok()) {
      // The engine reports one failure, but several files of the group may have lost bytes.
      for (const std::string& path : group) lose(path, synced.error());
      return synced;
    }
    for (const std::string& path : group) written_.erase(path);
    if (!group.empty()) ++generation_;
    group.clear();
    return {};
  };
  for (const std::string& path : paths) {
    if (!written_.contains(path)) continue;
    group.push_back(path);
    if (group.size() < most_open_) continue;
    if (Status synced = sync_group(); !synced.ok()) return synced;
  }
  if (Status synced = sync_group(); !synced.ok()) return synced;
  if (!engine_->abilities().in_file_system) changed_folders_.clear();
  while (!changed_folders_.empty()) {
    // A folder that is missing was renamed, with everything in it, before it was durable.
    Status synced = sync_folder(*changed_folders_.begin());
    if (!synced.ok() && synced.error().system_error != ENOENT) return synced;
    changed_folders_.erase(changed_folders_.begin());
  }
  return {};
}

}  // namespace weir::storage

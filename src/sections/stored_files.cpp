#include "sections/stored_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "system/moved_all.hpp"

namespace weir::storage {
namespace {

std::int64_t bytes_of(std::span<const StoredRange> ranges) {
  std::int64_t bytes = 0;
  for (const StoredRange& range : ranges) bytes += storage::bytes_of(range.slices);
  return bytes;
}

}  // namespace

StoredFiles::StoredFiles(DataFiles files, bool writable, std::shared_ptr<OpenFiles> open)
    : files_(std::move(files)), writable_(writable), open_(std::move(open)) {}

Result<EngineFile*> StoredFiles::opened(std::int64_t number) {
  if (number == last_.number && open_->closings() == last_.closings) return last_.file;
  auto file = open_->get(files_.path(number), opening());
  if (!file) return file;
  last_ = {number, file.value(), open_->closings()};
  used_.insert(number);
  return file;
}

// Calls move(ranges) with groups of ranges whose files are open at the same time. Fails if not all
// bytes were moved.
template <typename Move>
Status StoredFiles::move(std::span<const StoredRange> ranges, FileTraffic& traffic,
                         const Move& move) {
  const std::int64_t before = traffic.moved;
  ranges_.clear();
  for (const StoredRange& range : ranges) {
    if (range.slices.empty()) continue;
    if (!ranges_.empty() && range.file != last_.number &&
        open_->closes_another(files_.path(range.file), opening())) {
      if (Status moved = move(ranges_); !moved.ok()) return moved;
      ranges_.clear();
    }
    const auto file = opened(range.file);
    if (!file) return file.error();
    ranges_.push_back({file.value(), range.offset, range.slices});
  }
  if (ranges_.empty()) return {};
  if (Status moved = move(ranges_); !moved.ok()) return moved;
  const StoredRange& first = ranges.front();
  return moved_all(bytes_of(ranges), traffic.moved - before, files_.path(first.file), first.offset);
}

Status StoredFiles::write(std::span<const StoredRange> ranges, FileTraffic& traffic) {
  if (!writable_ && !ranges.empty()) {
    return invalid_argument("it was opened for reading: open it for writing",
                            files_.path(ranges.front().file));
  }
  if (sums_ != nullptr) {
    for (const StoredRange& range : ranges) sums_->writes(range);
  }
  return move(ranges, traffic, [&](std::span<const FileRange> open) {
    // Files are marked before they are written, because a failed write may have written some bytes.
    // They may have to be marked again, because another array may have made the file durable since
    // then.
    if (marked_in_ != open_->generation()) marked_.clear();
    marked_in_ = open_->generation();
    for (const StoredRange& range : ranges) {
      if (!marked_.insert(range.file).second) continue;
      written_.try_emplace(range.file, marked_in_);
      open_->written(files_.path(range.file), closing_);
    }
    return open_->engine().write(open, traffic);
  });
}

Status StoredFiles::write(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
                          FileTraffic& traffic) {
  const StoredRange range{file, offset, slices};
  return write({&range, 1}, traffic);
}

Status StoredFiles::read(std::span<const StoredRange> ranges, FileTraffic& traffic) {
  Status status = move(ranges, traffic, [&](std::span<const FileRange> open) {
    return open_->engine().read(open, traffic);
  });
  if (sums_ == nullptr) return status;
  for (const StoredRange& range : ranges) {
    if (!status.ok()) break;
    status = sums_->has_read(range);
  }
  return status;
}

Status StoredFiles::read(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
                         FileTraffic& traffic, const std::byte* discarded) {
  const StoredRange range{file, offset, slices, discarded};
  return read({&range, 1}, traffic);
}

Result<bool> StoredFiles::is_there(std::int64_t file) {
  if (files_.bytes_when_made() == 0) return true;
  if (file == last_.number && open_->closings() == last_.closings) return true;
  // Opens the file for reading, so that this query does not create it.
  const auto open = open_->get(files_.path(file), {.write = false, .known = files_.known()});
  if (open) {
    used_.insert(file);
    return true;
  }
  if (open.error().system_error == ENOENT) return false;
  return open.error();
}

bool StoredFiles::cold(std::int64_t file) const {
  if (file == last_.number && open_->closings() == last_.closings) return last_.file->cold();
  const EngineFile* const open = open_->find(files_.path(file));
  return open != nullptr && open->cold();
}

Result<bool> StoredFiles::gains_from_batches(std::int64_t file, bool writing) {
  const bool is_open = last_.number >= 0 && open_->closings() == last_.closings;
  const auto asked = is_open ? Result<EngineFile*>(last_.file) : opened(file);
  if (!asked) return asked.error();
  return asked.value()->gains_from_batches(writing);
}

Status StoredFiles::sync(const SyncedHere& synced_here) {
  std::vector<std::string> paths;
  paths.reserve(used_.size() + written_.size());
  for (const std::int64_t number : used_) paths.push_back(files_.path(number));
  for (const auto& [number, since] : written_) {
    const std::string path = files_.path(number);
    if (const Error* const loss = open_->loss_since(path, since)) {
      Error error = *loss;
      error.message = fmt::format(
          "written data may be lost, because it could not be made durable ({}): write it again",
          loss->message);
      return error;
    }
    if (!used_.contains(number)) paths.push_back(path);
  }
  Status synced = open_->sync(paths, synced_here);
  if (synced.ok()) written_.clear();
  return synced;
}

void StoredFiles::forget_losses() {
  std::erase_if(written_, [&](const auto& one) {
    return open_->loss_since(files_.path(one.first), one.second) != nullptr;
  });
}

Status StoredFiles::abandon() {
  Status first = close();
  for (const auto& [number, since] : written_) {
    Status closed = open_->abandon(files_.path(number));
    if (first.ok()) first = std::move(closed);
  }
  marked_.clear();
  return first;
}

Status StoredFiles::close() {
  Status first;
  for (const std::int64_t number : used_) {
    Status closed = open_->close(files_.path(number));
    if (first.ok()) first = std::move(closed);
  }
  used_.clear();
  last_ = {};
  return first;
}

}  // namespace weir::storage

#include "workloads/probe/shared_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/clock.hpp"
#include "system/slices.hpp"

namespace weir::bench::probe {
namespace {

constexpr std::int64_t rows_of_file = shared_file_bytes / shared_row_bytes;
// The number of rows after which the guard learns the position of a trial.
constexpr std::int64_t watched_rows = 64;

}  // namespace

Status SharedFile::make(std::byte* image) {
  auto opened = storage::File::open(path_, {.write = true, .create = true, .truncate = true});
  if (!opened) return opened.error();
  guard_.entering("write", &path_, 0);
  const storage::Slice all{image, shared_file_bytes};
  std::int64_t calls = 0;
  Status written = storage::write_slices(opened.value(), {&all, 1}, 0, calls);
  guard_.left();
  return written;
}

Status SharedFile::open() {
  if (file_) return {};
  auto opened = storage::File::open(path_, {.write = true});
  if (!opened) return opened.error();
  file_.emplace(std::move(opened).value());
  return {};
}

Status SharedFile::write_rows(std::int64_t count, int first, int writers, const std::byte* row,
                              Times* times) {
  Status status;
  times->start_ns = monotonic_ns();
  for (std::int64_t i = 0; status.ok() && i < count; ++i) {
    const std::int64_t offset = (first + i * writers) % rows_of_file * shared_row_bytes;
    if (i % watched_rows == 0) guard_.entering("write", &path_, offset);
    ssize_t moved = 0;
    do {
      moved = ::pwrite(file_->descriptor(), row, shared_row_bytes, offset);
    } while (moved < 0 && errno == EINTR);
    if (moved != shared_row_bytes) {
      status = system_failure("write", path_, offset, moved < 0 ? errno : ENOSPC);
    }
  }
  times->end_ns = monotonic_ns();
  guard_.left();
  return status;
}

Status SharedFile::sync() {
  guard_.entering("fsync", &path_, -1);
  Status status = file_->sync();
  guard_.left();
  return status;
}

}  // namespace weir::bench::probe

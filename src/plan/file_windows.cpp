#include "plan/file_windows.hpp"

#include <algorithm>
#include <utility>

namespace weir::plan {
namespace {

// An extent of at least this length is moved by a call of its own.
constexpr std::int64_t long_extent_bytes = 16 << 10;
constexpr std::int64_t most_window_bytes = 512 << 10;
constexpr std::size_t most_window_extents = 16 << 10;

bool is_alone_in_its_files(const Request& request, int array) {
  const ArrayRequest& own = request.arrays[static_cast<std::size_t>(array)];
  const auto in_them = [&](const ArrayRequest& one) {
    return one.first_file < own.first_file + own.image.files() &&
           own.first_file < one.first_file + one.image.files();
  };
  return std::count_if(request.arrays.begin(), request.arrays.end(), in_them) == 1;
}

}  // namespace

std::int64_t widest_gap(const Plan& plan, int array, const PlatformRates& rates) {
  const bool writing = plan.request().direction == Direction::write;
  if (writing && (Plan::groups(plan.topology(), plan.parameters().strategy) > 1 ||
                  plan.bundle(array) != nullptr || !is_alone_in_its_files(plan.request(), array))) {
    return -1;
  }
  // Number of bytes that cost as much as a call. On a write, the bytes of a hole are read first.
  const FileRates& files = writing ? rates.write : rates.read;
  const double bytes = files.call_seconds * files.core_bytes_per_second / (writing ? 2 : 1);
  return static_cast<std::int64_t>(std::clamp(bytes, 0.0, static_cast<double>(most_window_bytes)));
}

FileWindows::FileWindows(PieceExtents extents, std::int64_t widest_gap)
    : extents_(std::move(extents)), widest_gap_(widest_gap) {
  has_waiting_ = extents_.next(waiting_);
}

bool FileWindows::next(FileWindow& window) {
  if (!has_waiting_) return false;
  window.extents.assign(1, waiting_);
  has_waiting_ = extents_.next(waiting_);
  if (window.bytes() >= long_extent_bytes) return true;
  const auto fits = [&] {
    const std::int64_t end = window.offset() + window.bytes();
    const std::int64_t gap = waiting_.offset - end;
    return waiting_.file == window.extents.front().file && gap >= 0 && gap <= widest_gap_ &&
           waiting_.bytes < long_extent_bytes &&
           waiting_.offset + waiting_.bytes - window.offset() <= most_window_bytes &&
           window.extents.size() < most_window_extents;
  };
  while (has_waiting_ && fits()) {
    window.extents.push_back(waiting_);
    has_waiting_ = extents_.next(waiting_);
  }
  return true;
}

WindowEstimate estimate_windows(const array::StridedCopy& to_file, std::int64_t widest_gap) {
  WindowEstimate estimate{1, static_cast<double>(to_file.bytes), true};
  // The loop goes from single extents outwards: extents are moved together as long as they follow
  // each other closely.
  std::int64_t span = to_file.bytes;
  bool together = to_file.bytes < long_extent_bytes;
  for (int level = to_file.levels.size() - 1; level >= 0; --level) {
    const array::CopyLevel& along = to_file.levels[level];
    const std::int64_t gap = along.to_stride - span;
    const auto count = static_cast<double>(along.count);
    together =
        together && gap >= 0 && gap <= widest_gap && along.to_stride <= most_window_bytes / 2;
    if (!together) {
      estimate.windows *= count;
      estimate.bytes *= count;
      continue;
    }
    estimate.alone = false;
    const double all =
        (count - 1) * static_cast<double>(along.to_stride) + static_cast<double>(span);
    estimate.bytes = all;
    estimate.windows = std::max(1.0, all / static_cast<double>(most_window_bytes));
    together = estimate.windows == 1;
    span = static_cast<std::int64_t>(std::min(all, static_cast<double>(most_window_bytes)));
  }
  return estimate;
}

}  // namespace weir::plan

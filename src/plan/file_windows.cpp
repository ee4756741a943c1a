#include "plan/file_windows.hpp"

#include <algorithm>
#include <utility>

#include "array/data_sieving.hpp"

namespace weir::plan {
namespace {

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

std::int64_t widest_hole_of_read(const PlatformRates& rates, bool cold) {
  return array::widest_hole_of_read({rates.read.call_seconds, rates.read.core_bytes_per_second},
                                    cold);
}

std::int64_t widest_gap(const Plan& plan, int array, const PlatformRates& rates, bool cold) {
  const bool writing = plan.request().direction == Direction::write;
  if (writing && (Plan::groups(plan.topology(), plan.parameters().strategy) > 1 ||
                  plan.bundle(array) != nullptr || !is_alone_in_its_files(plan.request(), array))) {
    return -1;
  }
  if (!writing) return widest_hole_of_read(rates, cold);
  return array::widest_hole({rates.write.call_seconds, rates.write.core_bytes_per_second},
                            array::HoleUse::rewritten);
}

FileWindows::FileWindows(PieceExtents extents, std::int64_t widest_gap)
    : extents_(std::move(extents)), widest_gap_(widest_gap) {
  has_waiting_ = extents_.next(waiting_);
}

bool FileWindows::next(FileWindow& window) {
  if (!has_waiting_) return false;
  window.extents.assign(1, waiting_);
  has_waiting_ = extents_.next(waiting_);
  if (window.bytes() >= array::short_transfer_bytes) return true;
  const auto fits = [&] {
    const std::int64_t end = window.offset() + window.bytes();
    const std::int64_t gap = waiting_.offset - end;
    return waiting_.file == window.extents.front().file && array::moves_along(gap, widest_gap_) &&
           waiting_.bytes < array::short_transfer_bytes &&
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
  bool together = to_file.bytes < array::short_transfer_bytes;
  for (int level = to_file.levels.size() - 1; level >= 0; --level) {
    const array::CopyLevel& along = to_file.levels[level];
    const std::int64_t gap = along.to_stride - span;
    const auto count = static_cast<double>(along.count);
    together =
        together && array::moves_along(gap, widest_gap) && along.to_stride <= most_window_bytes / 2;
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

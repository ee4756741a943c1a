#include "aggregation/piece_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "array/byte_swap.hpp"
#include "array/fill.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

constexpr std::size_t most_ranges = 1024;  // in a batch
constexpr std::size_t most_window_bytes = 4 << 20;

}  // namespace

Error no_place(const OpenArray& array) {
  return Error(ErrorCode::unsupported,
               fmt::format("array \"{}\" has chunks that its file has no room for, as whoever made "
                           "it left them out: write a new file",
                           array.name()),
               array.path());
}

Status PieceTransfer::move(const plan::Piece& piece, plan::PieceExtents extents,
                           std::optional<std::int64_t> due, std::byte* buffer) {
  const bool in_bundle = context_.plan->bundle(piece.id.array) != nullptr;
  bundle_ = in_bundle && context_.watched ? &piece : nullptr;
  std::size_t slab = 0;
  begin_part(piece.slabs[slab].array);
  const ranks::LifeSigns::During moving(context_.group.life(), ranks::LifeSigns::What::storage);
  const std::int64_t began = monotonic_ns();
  traffic_ = {};
  // A stager takes extents as they are; it cannot read what is between them.
  const bool leaves_holes =
      context_.writing() && (part_->file->is_staged() || part_->file->origin().has_other_writers);
  const std::int64_t gap = leaves_holes
                               ? -1
                               : plan::widest_gap(*context_.plan, piece.id.array, context_.rates,
                                                  part_->file->files().cold());
  plan::FileWindows windows(std::move(extents), gap);
  Status status;
  std::int64_t met = 0;  // bytes of the extents so far
  while (status.ok() && windows.next(window_)) {
    for (const plan::FileExtent& extent : window_.extents) met += extent.bytes;
    // Extents come in the order of slabs, and all slabs of one file have one base.
    const std::int64_t file = window_.extents.front().file;
    if (in_bundle && piece.slabs[slab].file != file) {
      status = end_batch(buffer);
      while (piece.slabs[slab].file != file) ++slab;
      begin_part(piece.slabs[slab].array);
    }
    if (status.ok()) status = add(window_, buffer);
    if (!status.ok()) break;
    const auto full = is_full();
    if (!full) status = full.error();
    if (full && full.value()) status = end_batch(buffer);
  }
  if (status.ok()) status = end_batch(buffer);
  ranges_.clear();
  windows_.clear();
  window_bytes_ = 0;
  CollectiveFigures& figures = context_.figures;
  figures.storage_ns += monotonic_ns() - began;
  figures.storage_calls += traffic_.calls;
  figures.bytes_stored += traffic_.written;
  figures.bytes_fetched += traffic_.read;
  figures.account.due += due.value_or(met);
  return status;
}

Result<bool> PieceTransfer::is_full() {
  if (ranges_.empty() && windows_.empty()) return false;
  const std::int64_t file = ranges_.empty()
                                ? part_->stored_file(windows_.front().extents.extents.front().file)
                                : ranges_.front().file;
  const auto gains = part_->file->files().gains_from_batches(file, context_.writing());
  if (!gains) return gains.error();
  if (!gains.value()) return true;
  return ranges_.size() >= most_ranges || window_bytes_ >= most_window_bytes;
}

void PieceTransfer::tell_bundle() const {
  if (bundle_ == nullptr) return;
  const OpenArray* told = part_->file;
  for (const plan::Slab& slab : bundle_->slabs) {
    OpenArray& other = *context_.part_of(slab.array).file;
    if (&other == told || &other == part_->file || other.sums().written() == nullptr ||
        !(other.map().files == part_->file->map().files)) {
      continue;
    }
    for (const storage::StoredRange& range : stored_) other.sums().writes(range);
    told = &other;
  }
}

void PieceTransfer::begin_part(int array) {
  part_ = &context_.part_of(array);
  fill_ = part_->file->origin().fill;
  array::copy_swapped(fill_.data(), fill_.data(), static_cast<std::int64_t>(fill_.size()),
                      part_->file->swapped_together());
}

Result<bool> PieceTransfer::is_stored(const plan::FileExtent& extent) {
  bool stored = extent.file != plan::no_file;
  if (!stored && context_.writing()) return no_place(*part_->file);
  if (stored && !context_.writing()) {
    const auto there = part_->file->files().is_there(part_->stored_file(extent.file));
    if (!there) return there.error();
    stored = there.value();
  }
  return stored;
}

void PieceTransfer::add_range(std::int64_t file, std::int64_t offset, std::byte* data,
                              std::int64_t bytes) {
  ranges_.push_back({part_->stored_file(file), part_->base + offset, {data, bytes}});
}

Status PieceTransfer::add(plan::FileWindow& window, std::byte* buffer) {
  // A window is in a single file.
  const auto stored = is_stored(window.extents.front());
  if (!stored) return stored.error();
  if (!stored.value()) {
    for (const plan::FileExtent& extent : window.extents) {
      array::fill_elements(buffer + extent.buffer_offset, extent.bytes, fill_);
      context_.figures.account.filled += extent.bytes;
    }
    return {};
  }
  if (window.extents.size() == 1) {
    const plan::FileExtent& extent = window.extents.front();
    add_range(extent.file, extent.offset, buffer + extent.buffer_offset, extent.bytes);
    return {};
  }
  const auto bytes = static_cast<std::size_t>(window.bytes());
  windows_.push_back({window, window_bytes_});
  window_bytes_ += bytes;
  // Resizing is safe: ranges that exist point elsewhere, since only end_batch() makes the ranges of
  // windows.
  if (window_data_.size() < window_bytes_) window_data_.resize(window_bytes_);
  return {};
}

Status PieceTransfer::end_batch(std::byte* buffer) {
  if (ranges_.empty() && windows_.empty()) return {};
  storage::StoredFiles& files = part_->file->files();
  const std::size_t extents = ranges_.size();
  for (const Window& window : windows_) {
    add_range(window.extents.extents.front().file, window.extents.offset(),
              window_data_.data() + window.data, window.extents.bytes());
  }
  stored_.clear();
  for (const Range& range : ranges_) {
    stored_.push_back({range.file, range.offset, {&range.slice, 1}});
  }
  const std::span<const storage::StoredRange> all(stored_);
  Status status =
      context_.writing() ? files.read(all.subspan(extents), traffic_) : files.read(all, traffic_);
  for (const Window& window : windows_) {
    if (!status.ok()) break;
    for (const plan::FileExtent& extent : window.extents.extents) {
      std::byte* const in_window =
          window_data_.data() + window.data + (extent.offset - window.extents.offset());
      std::byte* const in_buffer = buffer + extent.buffer_offset;
      const bool writing = context_.writing();
      std::memcpy(writing ? in_window : in_buffer, writing ? in_buffer : in_window,
                  static_cast<std::size_t>(extent.bytes));
    }
  }
  if (status.ok() && context_.writing()) {
    tell_bundle();
    status = files.write(all, traffic_);
  }
  if (status.ok()) count(all);
  ranges_.clear();
  windows_.clear();
  window_bytes_ = 0;
  return status;
}

// Called after the batch has been moved: counts what StoredFiles moved; the rest of it are holes.
void PieceTransfer::count(std::span<const storage::StoredRange> all) {
  std::int64_t bytes = 0;
  for (const storage::StoredRange& range : all) {
    for (const storage::Slice& slice : range.slices) bytes += slice.bytes;
  }
  std::int64_t holes = 0;
  for (const Window& window : windows_) {
    holes += window.extents.bytes();
    for (const plan::FileExtent& extent : window.extents.extents) holes -= extent.bytes;
  }
  ByteAccount& account = context_.figures.account;
  account.moved += bytes - holes;
  account.holes += holes;
}

}  // namespace weir::aggregation

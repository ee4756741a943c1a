#include "aggregation/piece_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/clock.hpp"

namespace weir::aggregation {

Status PieceTransfer::move(const plan::Piece& piece, plan::PieceExtents extents,
                           std::byte* buffer) {
  const RequestedPart& part = context_.part_of(piece);
  const std::int64_t began = monotonic_ns();
  traffic_ = {};
  std::int64_t gap = plan::widest_gap(*context_.plan, piece.id.array, context_.rates);
  if (!context_.writing() && part.file->files().cold()) gap = std::max(gap, widest_cold_hole);
  plan::FileWindows windows(std::move(extents), gap);
  Status status;
  while (status.ok() && windows.next(window_)) {
    status = window_.extents.size() == 1 ? move_extent(part, window_.extents.front(), buffer)
                                         : move_window(part, buffer);
  }
  CollectiveFigures& figures = context_.figures;
  figures.storage_ns += monotonic_ns() - began;
  figures.storage_calls += traffic_.calls;
  figures.bytes_stored += traffic_.written;
  figures.bytes_fetched += traffic_.read;
  return status;
}

Status PieceTransfer::move_extent(const RequestedPart& part, const plan::FileExtent& extent,
                                  std::byte* buffer) {
  const storage::Slice slice{buffer + extent.buffer_offset, extent.bytes};
  storage::RawFiles& files = part.file->files();
  const std::int64_t file = extent.file - part.first_file;
  return context_.writing() ? files.write(file, {&slice, 1}, extent.offset, traffic_)
                            : files.read(file, {&slice, 1}, extent.offset, traffic_);
}

Status PieceTransfer::move_window(const RequestedPart& part, std::byte* buffer) {
  if (window_data_.size() < static_cast<std::size_t>(window_.bytes())) {
    window_data_.resize(static_cast<std::size_t>(window_.bytes()));
  }
  const storage::Slice slice{window_data_.data(), window_.bytes()};
  storage::RawFiles& files = part.file->files();
  const std::int64_t file = window_.extents.front().file - part.first_file;
  Status status = files.read(file, {&slice, 1}, window_.offset(), traffic_);
  if (!status.ok()) return status;
  for (const plan::FileExtent& extent : window_.extents) {
    std::byte* const in_window = window_data_.data() + (extent.offset - window_.offset());
    std::byte* const in_buffer = buffer + extent.buffer_offset;
    if (context_.writing()) {
      std::memcpy(in_window, in_buffer, static_cast<std::size_t>(extent.bytes));
    } else {
      std::memcpy(in_buffer, in_window, static_cast<std::size_t>(extent.bytes));
    }
  }
  if (!context_.writing()) return {};
  return files.write(file, {&slice, 1}, window_.offset(), traffic_);
}

}  // namespace weir::aggregation

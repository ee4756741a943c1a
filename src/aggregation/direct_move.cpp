#include "aggregation/direct_move.hpp"

#include <algorithm>
#include <utility>

#include "array/odometer.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

constexpr std::size_t most_slices = 1024;  // of one system call

}  // namespace

DirectMove::DirectMove(std::vector<RequestedPart> parts, Way way, int rank,
                       CollectiveFigures& figures)
    : parts_(std::move(parts)), way_(way), rank_(rank), figures_(figures) {
  next_piece();
}

// Goes to the piece `piece_` of the part `part_`, or the next there is.
void DirectMove::next_piece() {
  for (; part_ < parts_.size(); ++part_, piece_ = 0) {
    const ArrayPart& part = *parts_[part_].part;
    if (piece_ >= part.pieces.size()) continue;
    held_ = part.memory->piece(rank_, static_cast<std::int64_t>(piece_));
    chunks_.clear();
    chunk_ = 0;
    array::CommonRegions regions(held_, part.section);
    for (array::Region common; regions.next(common);) {
      array::ChunksMeeting meeting(parts_[part_].file->grid(), common);
      for (std::int64_t chunk = 0; meeting.next(chunk);) chunks_.push_back(chunk);
    }
    std::sort(chunks_.begin(), chunks_.end());
    chunks_.erase(std::unique(chunks_.begin(), chunks_.end()), chunks_.end());
    return;
  }
}

bool DirectMove::step() {
  if (done()) return false;
  if (chunk_ < chunks_.size()) {
    move_chunk(chunks_[chunk_++]);
  } else {
    ++piece_;
    next_piece();
  }
  return true;
}

void DirectMove::move_chunk(std::int64_t chunk) {
  OpenArray& file = *parts_[part_].file;
  const ArrayPart& part = *parts_[part_].part;
  const MemoryPiece& memory = part.pieces[piece_];
  const array::Box box = file.grid().box(chunk);
  const storage::RawFiles::Place place = file.files().place_of_chunk(chunk);
  const auto layout =
      array::Layout::packed(box.extent, file.array().type.bytes(), file.array().order).value();
  array::CommonRegions regions(held_.clipped(box), part.section);
  for (array::Region common; regions.next(common) && status_.ok();) {
    array::UniformRegions uniforms(common);
    for (array::UniformRegion uniform; uniforms.next(uniform) && status_.ok();) {
      move_runs(array::StridedCopy::between(array::localized(uniform, held_), memory.layout,
                                            array::relative_to(uniform, box), layout),
                memory.data, place.file, place.offset);
    }
  }
  flush(place.file);
}

void DirectMove::move_runs(const array::StridedCopy& runs, std::byte* memory, std::int64_t file,
                           std::int64_t chunk_offset) {
  array::Odometer<array::max_levels>::Counts counts;
  for (const array::CopyLevel& level : runs.levels) counts.push_back(level.count);
  std::int64_t from = runs.from_offset;
  std::int64_t to = chunk_offset + runs.to_offset;
  for (array::Odometer<array::max_levels> place(counts); status_.ok();) {
    if (slices_.size() == most_slices || (!slices_.empty() && to != batch_end_)) flush(file);
    if (slices_.empty()) batch_offset_ = to;
    slices_.push_back({memory + from, runs.bytes});
    batch_end_ = to + runs.bytes;
    if (counts.empty()) return;
    const int changed = place.advance();
    if (changed < 0) return;
    from += runs.levels[changed].from_stride;
    to += runs.levels[changed].to_stride;
    for (int level = changed + 1; level < counts.size(); ++level) {
      from -= runs.levels[level].from_stride * (counts[level] - 1);
      to -= runs.levels[level].to_stride * (counts[level] - 1);
    }
  }
}

void DirectMove::flush(std::int64_t file) {
  if (slices_.empty() || !status_.ok()) {
    slices_.clear();
    return;
  }
  storage::RawFiles& files = parts_[part_].file->files();
  storage::FileTraffic traffic;
  const std::int64_t began = monotonic_ns();
  status_ = way_ == Way::write ? files.write(file, slices_, batch_offset_, traffic)
                               : files.read(file, slices_, batch_offset_, traffic);
  figures_.storage_ns += monotonic_ns() - began;
  figures_.storage_calls += traffic.calls;
  figures_.bytes_stored += traffic.written;
  figures_.bytes_fetched += traffic.read;
  slices_.clear();
}

}  // namespace weir::aggregation

#include "aggregation/direct_move.hpp"

#include <utility>

#include "common/clock.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/piece_extents.hpp"

namespace weir::aggregation {
namespace {

constexpr std::size_t most_slices = 1024;  // of one system call
constexpr std::int64_t most_bytes_with_holes = 4 << 20;

}  // namespace

DirectMove::DirectMove(MoveContext context)
    : context_(std::move(context)), pieces_(context_.plan, context_.rank) {}

bool DirectMove::step() {
  plan::PieceId id;
  if (done_ || !status_.ok() || !pieces_.next(id)) {
    done_ = true;
    return false;
  }
  move_piece(context_.plan->piece(id));
  return true;
}

void DirectMove::move_piece(const plan::Piece& piece) {
  part_ = &context_.part_of(piece);
  plan::MeetingBlocks blocks(*context_.plan, piece, context_.rank);
  for (plan::MeetingBlock block; status_.ok() && blocks.next(block);) {
    const plan::Slab& slab = piece.slabs[block.slab];
    const MemoryPiece& memory = part_->part->pieces[static_cast<std::size_t>(block.part)];
    const std::int64_t file = slab.file - part_->first_file;
    if (file != file_) flush();
    file_ = file;
    // Holes that other ranks ask for are in memory by the time, or on their way.
    reads_holes_ = !context_.writing() && plan::buffer_to_file(slab).runs() > 1;
    move_runs(plan::memory_to_file(block, memory.layout, slab), memory.data);
  }
  flush();
}

void DirectMove::move_runs(const array::StridedCopy& copy, std::byte* memory) {
  plan::CopyRuns runs(copy);
  std::int64_t from = 0;
  std::int64_t to = 0;
  while (status_.ok() && runs.next(from, to)) {
    if (!joins(to)) flush();
    if (slices_.empty()) {
      batch_offset_ = to;
    } else if (to > batch_end_) {
      slices_.push_back({hole_.data(), to - batch_end_});
    }
    slices_.push_back({memory + from, copy.bytes});
    batch_end_ = to + copy.bytes;
  }
}

// Whether a run at `offset` goes on with the batch: next to it or, where storage is read, behind a
// hole that is read with it.
bool DirectMove::joins(std::int64_t offset) {
  if (slices_.empty()) return true;
  if (slices_.size() + 2 > most_slices) return false;  // a hole and the run
  if (offset == batch_end_) return true;
  const std::int64_t hole = offset - batch_end_;
  if (!reads_holes_ || hole < 0 || hole > widest_cold_hole ||
      offset - batch_offset_ > most_bytes_with_holes || !part_->file->files().cold(file_)) {
    return false;
  }
  hole_.resize(static_cast<std::size_t>(widest_cold_hole));
  return true;
}

void DirectMove::flush() {
  if (slices_.empty() || !status_.ok()) {
    slices_.clear();
    return;
  }
  storage::RawFiles& files = part_->file->files();
  storage::FileTraffic traffic;
  const std::int64_t began = monotonic_ns();
  status_ = context_.writing() ? files.write(file_, slices_, batch_offset_, traffic)
                               : files.read(file_, slices_, batch_offset_, traffic);
  CollectiveFigures& figures = context_.figures;
  figures.storage_ns += monotonic_ns() - began;
  figures.storage_calls += traffic.calls;
  figures.bytes_stored += traffic.written;
  figures.bytes_fetched += traffic.read;
  slices_.clear();
}

}  // namespace weir::aggregation

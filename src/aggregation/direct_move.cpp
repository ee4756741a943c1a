#include "aggregation/direct_move.hpp"

#include <algorithm>
#include <utility>

#include "aggregation/piece_transfer.hpp"
#include "array/byte_swap.hpp"
#include "array/copy_runs.hpp"
#include "array/data_sieving.hpp"
#include "array/fill.hpp"
#include "common/clock.hpp"
#include "plan/meeting_blocks.hpp"

namespace weir::aggregation {
namespace {

constexpr std::size_t most_slices = 1024;  // in one system call
constexpr std::int64_t most_bytes_with_holes = 4 << 20;
// Number of bytes that are swapped and then moved at a time; multiples of every number's size. For
// reads, it is the amount that fits into a second-level cache. For writes it is larger, since small
// writes into large blocks of the page cache are slow (ext4 checks each of their sectors).
constexpr std::int64_t read_at_once = 256 << 10;
constexpr std::int64_t written_at_once = 1 << 20;
static_assert(array::most_hole_bytes <= read_at_once);  // holes are read whole

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
  part_ = &context_.part_of(piece.id.array);
  plan::MeetingBlocks blocks(*context_.plan, piece, context_.rank);
  for (plan::MeetingBlock block; status_.ok() && blocks.next(block);) {
    const plan::Slab& slab = piece.slabs[block.slab];
    const MemoryPiece& memory = part_->part->pieces[static_cast<std::size_t>(block.part)];
    if (slab.file != file_) flush();
    file_ = slab.file;
    // Holes that other ranks request are already in memory, or about to be.
    reads_holes_ =
        !context_.writing() && file_ != plan::no_file && plan::buffer_to_file(slab).runs() > 1;
    move_runs(plan::memory_to_file(block, *memory.layout, slab), memory.data);
  }
  flush();
}

void DirectMove::move_runs(const array::StridedCopy& copy, std::byte* memory) {
  array::CopyRuns runs(copy);
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
    context_.figures.account.handed += copy.bytes;
    context_.figures.account.due += copy.bytes;
    batch_end_ = to + copy.bytes;
  }
}

// Returns whether a run at `offset` continues the batch: adjacent to it or, when reading from
// storage, after a hole that is read along.
bool DirectMove::joins(std::int64_t offset) {
  if (slices_.empty()) return true;
  if (slices_.size() + 2 > most_slices) return false;  // room for a hole and the run
  if (offset == batch_end_) return true;
  const std::int64_t hole = offset - batch_end_;
  if (!reads_holes_ || offset - batch_offset_ > most_bytes_with_holes) return false;
  const bool cold = part_->file->files().cold(part_->stored_file(file_));
  if (!array::moves_along(hole, plan::widest_hole_of_read(context_.rates, cold))) return false;
  hole_.resize(static_cast<std::size_t>(array::most_hole_bytes));
  return true;
}

void DirectMove::flush() {
  if (slices_.empty() || !status_.ok()) {
    slices_.clear();
    return;
  }
  status_ = flush_into_files();
  slices_.clear();
}

Status DirectMove::flush_into_files() {
  storage::StoredFiles& files = part_->file->files();
  const std::int64_t swapped = part_->file->swapped_together();
  bool stored = file_ != plan::no_file;
  if (!stored && context_.writing()) return no_place(*part_->file);
  const std::int64_t file = part_->stored_file(file_);
  if (stored && !context_.writing()) {
    const auto there = files.is_there(file);
    if (!there) return there.error();
    stored = there.value();
  }
  if (!stored) {
    for (const storage::Slice& slice : slices_) {
      array::fill_elements(slice.data, slice.bytes, part_->file->origin().fill);
      context_.figures.account.filled += slice.bytes;
    }
    return {};
  }
  storage::FileTraffic traffic;
  const ranks::LifeSigns::During moving(context_.group.life(), ranks::LifeSigns::What::storage);
  const std::int64_t began = monotonic_ns();
  Status status;
  if (swapped > 1) {
    status = context_.writing() ? write_swapped(swapped, traffic) : read_swapped(swapped, traffic);
  } else if (!context_.writing()) {
    status = files.read(file, slices_, part_->base + batch_offset_, traffic, hole_.data());
  } else {
    status = files.write(file, slices_, part_->base + batch_offset_, traffic);
  }
  CollectiveFigures& figures = context_.figures;
  figures.storage_ns += monotonic_ns() - began;
  figures.storage_calls += traffic.calls;
  figures.bytes_stored += traffic.written;
  figures.bytes_fetched += traffic.read;
  if (status.ok()) count(traffic.moved);
  return status;
}

void DirectMove::count(std::int64_t moved) {
  std::int64_t holes = 0;
  for (const storage::Slice& slice : slices_) {
    if (!hole_.empty() && slice.data == hole_.data()) holes += slice.bytes;
  }
  context_.figures.account.moved += moved - holes;
  context_.figures.account.holes += holes;
}

Status DirectMove::read_swapped(std::int64_t swapped, storage::FileTraffic& traffic) {
  std::int64_t offset = part_->base + batch_offset_;
  std::vector<storage::Slice> together;
  std::int64_t held = 0;
  storage::StoredFiles& files = part_->file->files();
  const std::int64_t file = part_->stored_file(file_);
  const std::int64_t at_once = files.cold(file) ? INT64_MAX : read_at_once;
  const auto read = [&]() -> Status {
    Status got = files.read(file, together, offset, traffic, hole_.data());
    for (const storage::Slice& slice : together) {
      if (!got.ok()) break;
      if (slice.data == hole_.data()) continue;
      array::copy_swapped(slice.data, slice.data, slice.bytes, swapped);
    }
    offset += held;
    held = 0;
    together.clear();
    return got;
  };
  for (const storage::Slice& slice : slices_) {
    for (std::int64_t done = 0; done < slice.bytes;) {
      const std::int64_t bytes = std::min(slice.bytes - done, at_once);  // the whole of a hole
      if (held > 0 && bytes > at_once - held) {
        if (Status got = read(); !got.ok()) return got;
      }
      together.push_back({slice.data + done, bytes});
      done += bytes;
      held += bytes;
    }
  }
  return held > 0 ? read() : Status();
}

Status DirectMove::write_swapped(std::int64_t swapped, storage::FileTraffic& traffic) {
  swapped_data_.resize(static_cast<std::size_t>(written_at_once));
  std::int64_t offset = part_->base + batch_offset_;
  std::int64_t held = 0;
  const auto write = [&]() -> Status {
    if (held == 0) return {};
    const storage::Slice slice{swapped_data_.data(), held};
    Status written =
        part_->file->files().write(part_->stored_file(file_), {&slice, 1}, offset, traffic);
    offset += held;
    held = 0;
    return written;
  };
  for (const storage::Slice& slice : slices_) {
    for (std::int64_t done = 0; done < slice.bytes;) {
      const std::int64_t bytes = std::min(slice.bytes - done, written_at_once - held);
      array::copy_swapped(slice.data + done, swapped_data_.data() + held, bytes, swapped);
      done += bytes;
      held += bytes;
      if (held < written_at_once) continue;
      if (Status written = write(); !written.ok()) return written;
    }
  }
  return write();
}

}  // namespace weir::aggregation

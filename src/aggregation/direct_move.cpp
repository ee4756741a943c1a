#include "aggregation/direct_move.hpp"

#include <utility>

#include "aggregation/piece_transfer.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

// Short rows pass through a buffer of this size. It is not smaller, since small writes into large
// blocks of the page cache are slow (ext4 checks each of their sectors).
constexpr std::int64_t buffer_bytes = 1 << 20;

}  // namespace

DirectMove::DirectMove(MoveContext context)
    : context_(std::move(context)), pieces_(context_.plan, context_.rank), copier_(*this, {}) {}

bool DirectMove::step() {
  plan::PieceId id;
  if (done_ || !status_.ok() || !pieces_.next(id)) {
    done_ = true;
    return false;
  }
  status_ = move_piece(context_.plan->piece(id));
  count();
  return true;
}

void DirectMove::begin_array(int array) {
  if (array == array_) return;
  array_ = array;
  part_ = &context_.part_of(array);
  const plan::FileRates& read = context_.rates.read;
  copier_.set_options({.direction = context_.writing() ? Direction::write : Direction::read,
                       .swapped_together = part_->file->swapped_together(),
                       .fill = part_->file->origin().fill,
                       .most_bytes = buffer_bytes,
                       .read_cost = {read.call_seconds, read.core_bytes_per_second}});
}

Status DirectMove::move_piece(const plan::Piece& piece) {
  begin_array(piece.id.array);
  plan::MeetingBlocks blocks(*context_.plan, piece, context_.rank);
  for (plan::MeetingBlock block; blocks.next(block);) {
    if (Status moved = move_block(block, piece.slabs[block.slab]); !moved.ok()) return moved;
  }
  return copier_.end();
}

Status DirectMove::move_block(const plan::MeetingBlock& block, const plan::Slab& slab) {
  const MemoryPiece& memory = part_->part->pieces[static_cast<std::size_t>(block.part)];
  context_.figures.account.handed += block.bytes;
  context_.figures.account.due += block.bytes;
  if (slab.file != plan::no_file) {
    // Holes that other ranks request are already in memory, or about to be.
    copier_.set_reads_holes(plan::buffer_to_file(slab).runs() > 1);
    return copier_.move(slab.file, plan::memory_to_file(block, *memory.layout, slab), memory.data);
  }
  if (context_.writing()) return no_place(*part_->file);
  copier_.fill(plan::buffer_to_memory(block, *memory.layout, slab), memory.data);
  return {};
}

// Adds what was moved since the last call to the account of the request.
void DirectMove::count() {
  const storage::FileCopyAccount& now = copier_.account();
  ByteAccount& account = context_.figures.account;
  account.moved += now.moved - counted_.moved;
  account.holes += now.holes - counted_.holes;
  account.filled += now.filled - counted_.filled;
  counted_ = now;
}

storage::StoredRange DirectMove::stored(const storage::StoredRange& range) const {
  storage::StoredRange there = range;
  there.file = part_->stored_file(range.file);
  there.offset += part_->base;
  return there;
}

template <typename Transfer>
Status DirectMove::moved(const Transfer& transfer) {
  storage::FileTraffic traffic;
  const ranks::LifeSigns::During moving(context_.group.life(), ranks::LifeSigns::What::storage);
  const std::int64_t began = monotonic_ns();
  Status status = transfer(traffic);
  CollectiveFigures& figures = context_.figures;
  figures.storage_ns += monotonic_ns() - began;
  figures.storage_calls += traffic.calls;
  figures.bytes_stored += traffic.written;
  figures.bytes_fetched += traffic.read;
  return status;
}

Result<bool> DirectMove::read(const storage::StoredRange& range) {
  storage::StoredFiles& files = part_->file->files();
  auto there = files.is_there(part_->stored_file(range.file));
  if (!there || !there.value()) return there;
  const storage::StoredRange one = stored(range);
  Status read = moved([&](storage::FileTraffic& traffic) {
    return files.read({&one, 1}, traffic);
  });
  return read.ok() ? there : Result<bool>(read.error());
}

Status DirectMove::write(const storage::StoredRange& range) {
  const storage::StoredRange one = stored(range);
  return moved([&](storage::FileTraffic& traffic) {
    return part_->file->files().write({&one, 1}, traffic);
  });
}

// Rows may be so short that a call of the engine for each takes longer than copying it.
Status DirectMove::write_rows(std::int64_t file, std::span<const storage::PlacedSlice> rows,
                              std::int64_t& bytes) {
  bytes = 0;
  row_slices_.clear();
  row_ranges_.clear();
  row_slices_.reserve(rows.size());  // the ranges refer to them
  while (!rows.empty()) {
    const auto together = rows.first(storage::rows_without_hole(rows));
    const std::size_t first = row_slices_.size();
    for (const storage::PlacedSlice& row : together) {
      row_slices_.push_back(row.slice);
      bytes += row.slice.bytes;
    }
    row_ranges_.push_back(stored({file, together.front().offset,
                                  std::span<const storage::Slice>(row_slices_).subspan(first)}));
    rows = rows.subspan(together.size());
  }
  Status written = moved([&](storage::FileTraffic& traffic) {
    return part_->file->files().write(row_ranges_, traffic);
  });
  if (!written.ok()) bytes = 0;
  return written;
}

bool DirectMove::is_cold(std::int64_t file, std::int64_t /*offset*/) {
  return part_->file->files().cold(part_->stored_file(file));
}

}  // namespace weir::aggregation

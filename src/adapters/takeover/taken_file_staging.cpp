// Collective writes of a file that are handed to a stager.
//
// The stager has a rank's bytes when its call returns, also where it has not read yet that it has
// them: a rank hands over only after a vote of all, for which each comes when it has handed over
// what it had before, and before the stager carries out what a rank waits for, it reads what all
// ranks have sent. So whatever a rank waits for at the stager comes behind all that any rank wrote
// in calls which that rank has left. A rank that makes another call waits only if that meets such
// bytes, and the calls that all ranks make together wait for all of them.
//
// The stager reads each rank's connection by itself, so what two calls hand over may come in any
// order. Where a call meets bytes of calls before it, all ranks wait until the stager has read what
// they have handed over, and do so in each further call.
//
// What a stager could not store is told by the next call for which it should have been stored, and
// by each MPI_File_sync and MPI_File_close from then on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "adapters/takeover/own_transfer.hpp"
#include "adapters/takeover/refused.hpp"
#include "adapters/takeover/taken_file.hpp"
#include "aggregation/agreement.hpp"
#include "aggregation/call_queue.hpp"
#include "system/incomplete.hpp"

namespace weir::mpiio {

using aggregation::ByteFile;

bool TakenFile::is_staged() {
  return staged_as_.has_value() && bytes() != nullptr && bytes_->is_staged();
}

Status TakenFile::note_staged(std::span<const array::ByteGrid> grids) {
  const bool is_met =
      std::ranges::any_of(grids, [&](auto& grid) { return unordered_.meets(grid); });
  add_staged(grids);
  if (!is_met) return {};
  unordered_.clear();
  bytes_->keep_order();
  failed_here_ = group_.session()->reach_stager();
  Status reached =
      in_turn("writing bytes once more that a stager has", [](ByteFile&) { return Status(); });
  failed_here_ = {};
  return reached;
}

// All ranks that write the grid once more have called this when the vote ends.
void TakenFile::reach_stager_before(const array::ByteGrid& grid) {
  if (!unordered_.meets(grid)) return;
  // What fails here fails when the rank hands over, or when it waits.
  static_cast<void>(group_.session()->reach_stager());
}

void TakenFile::add_staged(std::span<const array::ByteGrid> grids) {
  for (const array::ByteGrid& grid : grids) {
    staged_.add(grid);
    if (!bytes_->keeps_order()) unordered_.add(grid);
  }
  staged_end_ = std::max(staged_end_, staged_.end());
  was_unsettled_ = std::exchange(is_unsettled_, true);
}

Moved TakenFile::outcome_of(const Status& moved, bool staged) {
  Moved outcome = moved.ok() ? Moved{} : takeover::outcome_of(moved.error());
  outcome.staged = staged;
  if (staged) handed_over_ = moved;
  return outcome;
}

std::optional<Moved> TakenFile::end_staged(const Moved& moved) {
  Moved ended = moved;
  ended.staged = handed_over_.ok();
  // In the case of overlaps, nothing was handed over.
  if (handed_over_.ok() || moved.reason == Reason::overlap) return ended;
  aggregation::Collective& session = *group_.session();
  const Status left =
      in_turn("leaving a lost stager", [&](ByteFile&) { return session.leave_lost_stagers(); });
  if (!left.ok() || session.stages_bytes()) {
    note_loss(handed_over_.error());
    return Moved{Reason::taken, lost_};
  }
  if (was_unsettled_ || moved.reason == Reason::lost) note_loss(handed_over_.error());
  bytes_->leave_stagers();
  staged_as_.reset();
  staged_.clear();
  unordered_.clear();
  is_unsettled_ = false;
  staged_end_ = 0;
  return std::nullopt;
}

// The next call of any kind that all ranks make begins with a vote, so that its bytes come behind
// those of this one, whichever rank has handed them over.
Moved TakenFile::hand_over_blocks(std::span<const array::ByteGrid> grids, const Part& part) {
  if (const Status noted = note_staged(grids); !noted.ok()) return outcome_of(noted, true);
  if (!grids.empty()) under_way_ = grids.front();
  handed_over_ = {};
  if (part.bytes > 0) {
    failed_here_ = bytes_->hand_over(part.patterns.front().offset(), part.memory, part.bytes);
  }
  if (failed_here_.ok()) return {.staged = true};
  return {Reason::taken, takeover::class_of(failed_here_.error())};
}

std::optional<Moved> TakenFile::end_lost() {
  handed_over_ = failed_here_;
  failed_here_ = {};
  if (handed_over_.ok()) {
    handed_over_ = Error(ErrorCode::io, "a rank has lost its stager, or what that had of the file");
  }
  return end_staged({Reason::lost});
}

bool TakenFile::has_stored(std::int64_t begin, std::int64_t end) {
  if (!staged_.meets(begin, end)) return true;
  if (!group_.session()->drain().ok()) return false;
  staged_.clear();
  if (under_way_) staged_.add_others(*under_way_, group_.rank());
  return true;
}

bool TakenFile::has_stored_range(std::int64_t first, std::int64_t bytes) {
  if (staged_.empty() || bytes == 0) return true;
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  // Offsets ascend with the tiles of a view, or descend: the first and the last byte are the
  // farthest.
  for (const std::int64_t number : {first, first + bytes - 1}) {
    std::vector<array::BytePattern> byte;
    if (view_->cut(number, 1, 1, byte) != array::ByteView::Cut::done) return has_stored_all();
    begin = std::min(begin, byte.front().offset());
    end = std::max(end, byte.front().end());
  }
  return has_stored(begin, end);
}

bool TakenFile::has_stored_all() { return has_stored(0, std::numeric_limits<std::int64_t>::max()); }

int TakenFile::settle(Settling call, Offset size) {
  if (call == Settling::none) return MPI_SUCCESS;
  if (call == Settling::shared_seek) {
    static_cast<void>(has_stored_all());  // what is lost is told when the file is synced or closed
    give_view();
    return MPI_SUCCESS;
  }
  if (call == Settling::atomicity) give_view();
  // What is still to be written lies before the new end, and the order makes no difference.
  if (call == Settling::resize && size >= staged_end_) return MPI_SUCCESS;
  const int result = store_all(call == Settling::sync);
  if (result != MPI_SUCCESS) PMPI_File_call_errhandler(file_, result);
  return result;
}

int TakenFile::store_all(bool is_synced) {
  if (!is_unsettled_) return lost_;
  // The MPI library makes durable what is in the cache of this node.
  const auto durability = is_synced && group_.session()->stages_elsewhere()
                              ? storage::StepDurability::step
                              : storage::StepDurability::none;
  const Status stored =
      in_turn("waiting for staged writes", [&](ByteFile& file) { return file.store(durability); });
  if (!stored.ok() && stored.error().code == ErrorCode::deadline) {
    tell(fmt::format("staged writes are not stored yet, and the stager goes on trying: {}",
                     stored.error().text()));
    return MPI_ERR_IO;
  }
  staged_.clear();
  unordered_.clear();
  is_unsettled_ = false;
  staged_end_ = 0;
  failed_here_ = {};
  if (!stored.ok()) note_loss(stored.error());
  return lost_;
}

int TakenFile::end_staging() {
  if (!is_unsettled_) return lost_;
  const bool is_left =
      group_.session()->settings().staging_close == aggregation::StagingClose::handed_over &&
      (mode_ & MPI_MODE_DELETE_ON_CLOSE) == 0 && lost_ == MPI_SUCCESS;
  if (!is_left) return store_all(false);
  const Status left = in_turn("closing a file with staged writes",
                              [](ByteFile& file) { return file.leave_to_stager(); });
  staged_.clear();
  is_unsettled_ = false;
  staged_end_ = 0;
  if (left.ok()) {
    group_.note_handed_over(*staged_as_);
  } else {
    note_loss(left.error());
  }
  return lost_;
}

// What the ranks had under way is handed over when all have made this call.
Status TakenFile::in_turn(const char* call, const std::function<Status(ByteFile&)>& act) {
  aggregation::CallQueue::Turn turn(group_.session()->calls(),
                                    aggregation::Call::of(call, failed_here_));
  if (!turn.entered().ok()) return turn.entered();
  under_way_.reset();
  Status done = act(*bytes_);
  turn.end(done);
  return done;
}

void TakenFile::note_loss(const Error& error) {
  if (lost_ != MPI_SUCCESS) return;
  lost_ = takeover::class_of(error);
  tell(fmt::format("writes that a stager had accepted are lost, or may be: {}", error.text()));
}

void TakenFile::tell(const std::string& what) const {
  if (group_.rank() != 0) return;
  fmt::print(stderr, "weir: {}: {}\n", storage::printable(staged_as_->path(0)), what);
}

}  // namespace weir::mpiio

#include "aggregation/sole_writer.hpp"

#include "ranks/progress.hpp"
#include "system/incomplete.hpp"

namespace weir::aggregation {
namespace {

// A stager that the ranks have left may keep its part of a lock so long.
constexpr double most_lock_seconds = 10;

}  // namespace

Status SoleWriter::take(CollectiveState& state, bool is_staged,
                        storage::WriterLock::Naming naming) {
  if (lock_.is_held() || stager_has_lock_) return {};
  if (is_staged) {
    // The session may have written a file of this path before.
    if (Status before = state.staging->wait_for(path_); !before.ok()) return before;
    // No open file is passed to a stager of another node, which takes the lock itself.
    if (state.staging->stager().is_remote()) {
      Status taken = state.staging->stager().take_lock(path_);
      stager_has_lock_ = taken.ok();
      if (taken.ok()) staging_ = state.staging.get();
      return taken;
    }
  }
  auto taken = storage::WriterLock::take(path_, naming);
  if (!taken) return taken.error();
  lock_ = std::move(taken).value();
  state.locks.add(lock_, path_);
  if (!is_staged || !lock_.is_held()) return {};
  Status kept = state.staging->stager().keep_lock(path_, lock_.file());
  if (kept.ok()) {
    lock_.share();
    staging_ = state.staging.get();
  }
  return kept;
}

Status SoleWriter::take_again(CollectiveState& state) {
  const bool was_held = lock_.is_held() || stager_has_lock_;
  stager_has_lock_ = false;
  lock_.release();
  if (!was_held) return {};
  Result<storage::WriterLock> taken = storage::WriterLock();
  const auto is_taken = [&] {
    taken = storage::WriterLock::take(path_);
    return taken.ok();
  };
  Status waited = ranks::wait_until(is_taken, state.group->revocation(), most_lock_seconds,
                                    "a stager that keeps the lock of a file");
  if (!taken) return taken.error();
  if (!waited.ok()) return waited;
  // The rank holds nothing where locks have ceased to be possible.
  lock_ = std::move(taken).value();
  state.locks.add(lock_, path_);
  return {};
}

void SoleWriter::release() {
  lock_.release();
  stager_has_lock_ = false;
  if (staging_ == nullptr) return;
  const auto ticket = staging_->stager().unlock(path_);  // fails if the stager is lost
  if (ticket) staging_->note(path_, ticket.value());
  staging_ = nullptr;
}

Status SoleWriter::check_is_unchanged(bool published) const {
  const std::string path = published ? path_ : storage::incomplete_path(path_);
  const auto now = storage::version_of(path);
  if (!now) return now.error();
  const bool has_same_state = !published || !knows_state_ || now.value().state == version_.state;
  if (now.value().file == version_.file && has_same_state) return {};
  return invalid_argument(
      published
          ? "another run or program has replaced or changed the file since this run opened it "
            "or ended a step: open it again"
          : "another run has removed or replaced this unfinished file: create it again when that "
            "run has ended",
      path);
}

void SoleWriter::note_version(const std::string& place) {
  auto now = storage::version_of(place);
  knows_state_ = now.ok();
  if (now) version_ = std::move(now).value();
}

void SoleWriter::forget_version() {
  version_ = {};
  knows_state_ = true;
}

}  // namespace weir::aggregation

// Steps of a file that a stager stores (session_staging.hpp): rank 0 hands over the commit, and
// asks later what became of it.
#include <fmt/format.h>

#include <utility>

#include "aggregation/step_file.hpp"
#include "checksums/sums_file.hpp"

namespace weir::aggregation {
// Files that are written in place have no steps that could be committed later, and a write that is
// durable when it returns cannot be handed over.
bool StepFile::is_staged(const CollectiveState& state) const {
  return state.staging != nullptr && writable_ && !settings_.in_place && !settings_.rewrite &&
         settings_.durability != storage::StepDurability::operation;
}

// Where the caches of nodes are not coherent, two nodes must not write into one page, and stagers
// write whatever their ranks have. Such arrays are written by the ranks; the steps are still
// published by the stager.
bool StepFile::stages_arrays(const CollectiveState& state,
                             const topology::FileTargets& targets) const {
  return is_staged(state) && (targets.coherent_caches || !state.staging->has_several());
}

// Called by rank 0, after all ranks have handed over what they wrote.
Status StepFile::hand_commit_over(CollectiveState& state) {
  const auto ticket = state.staging->stager().commit({.path = path_,
                                                      .durability = settings_.durability,
                                                      .names_sums = !published_ && has_sums_,
                                                      .seal = seal_,
                                                      .update = room_.update});
  if (!ticket) return ticket.error();
  ticket_ = ticket.value();
  state.staging->note(path_, *ticket_);
  return {};
}

// Called by rank 0: waits until the last step that ended is stored. What a commit without a stager
// remembers of the file is then remembered, too.
Status StepFile::wait_until_stored(CollectiveState& state, double seconds) {
  if (!lost_.ok()) return lost_;
  if (!ticket_) return {};
  const ranks::LifeSigns::During storing(state.group->life(), ranks::LifeSigns::What::storage);
  Status stored = state.staging->stager().wait(*ticket_, seconds);
  if (!stored.ok() && stored.error().code == ErrorCode::deadline) {
    return with_file(stored.error(), path_);
  }
  ticket_.reset();
  if (!stored.ok()) {
    Error error = with_file(stored.error(), path_);
    error.message = fmt::format(
        "step {} was handed to the stager and could not be stored ({}): open the file again to "
        "see its steps",
        steps_ - 1, error.message);
    lost_ = std::move(error);
    return lost_;
  }
  note_version(path_);
  sums_as_ = storage::state_of_file(storage::sums_path(path_));
  return {};
}

Status StepFile::wait_for_step(CollectiveState& state, double seconds) {
  Result<std::string> found = std::string();
  if (state.rank == 0) {
    if (Status stored = wait_until_stored(state, seconds); !stored.ok()) found = stored.error();
  }
  const auto told = told_by_rank_0(state, found, "whether the step is stored");
  if (!told) return told.error();
  // Each rank may read the step without the others from now on.
  return is_staged(state) ? state.staging->settle_after(state, seal_) : Status();
}

Result<bool> StepFile::is_step_stored(CollectiveState& state) {
  Result<std::string> found = std::string();
  if (state.rank == 0) {
    Status stored = wait_until_stored(state, 0);
    const bool is_late = !stored.ok() && stored.error().code == ErrorCode::deadline;
    if (stored.ok()) found = std::string("stored");
    if (!stored.ok() && !is_late) found = stored.error();
  }
  const auto told = told_by_rank_0(state, found, "whether the step is stored");
  if (!told) return told.error();
  return !told.value().empty();
}

// The stager holds the lock as long as anything of the file is left to be stored.
void StepFile::release_lock() {
  lock_.release();
  if (staging_ == nullptr) return;
  const auto ticket = staging_->stager().unlock(path_);
  if (ticket) staging_->note(path_, ticket.value());
  staging_ = nullptr;
}

}  // namespace weir::aggregation

// Drops the last steps of a file, between steps. Rank 0 removes them from the file and reads it
// again; all ranks take the changes of their open arrays, and the checksums that remain.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregation/step_file.hpp"
#include "checksums/sums_file.hpp"
#include "formats/drop_steps.hpp"
#include "formats/format.hpp"

namespace weir::aggregation {

Status StepFile::may_keep(std::int64_t steps) const {
  if (!writable_) return invalid_argument("the file is open read-only: open it for writing", path_);
  if (in_step_) return invalid_argument("a step has begun: end it or give it up first", path_);
  if (!published_)
    return invalid_argument("no step of it has ended: there is no step to drop", path_);
  if (!has_steps_) {
    return invalid_argument("no array of the file has steps: there is no step to drop", path_);
  }
  if (steps >= 0 && steps <= steps_) return {};
  return invalid_argument(
      fmt::format("steps is {}, but the file has {} steps: give 0 to {}", steps, steps_, steps_),
      path_);
}

// Called by rank 0: removes the steps from number `steps` on.
Result<StepPlaces> StepFile::without_later_steps(CollectiveState& state, std::int64_t steps) {
  if (Status alone = begin_writing(state); !alone.ok()) return alone.error();
  if (Status unchanged = writer_.check_is_unchanged(published_); !unchanged.ok())
    return unchanged.error();
  sums_.forget();
  // If this fails half-way, no step can begin before the file is opened again.
  writer_.forget_version();
  if (Status dropped = storage::drop_steps(path_, steps, settings_.durability); !dropped.ok()) {
    return dropped.error();
  }
  const auto left = storage::find_format(format_).value()->open(path_);
  if (!left) return left.error();
  auto changes =
      changes_to(map_, left.value(), std::min(steps, known_steps_.value_or(steps)), path_);
  if (!changes) return changes.error();
  writer_.note_version(place());
  return StepPlaces(std::move(changes).value());
}

Status StepFile::drop_steps(CollectiveState& state, std::int64_t steps) {
  if (Status gone_on = go_on_without_stager(state); !gone_on.ok()) return gone_on;
  Status possible = may_keep(steps);
  // Files of the dropped steps are removed, and a rank that writes such a step again creates new
  // ones.
  if (possible.ok()) possible = close_files(arrays_);
  if (Status agreed = agree_on(state, possible); !agreed.ok()) {
    forget_descriptors(state, number_);
    return agreed;
  }
  const auto told = ask_for_places(
      state, {}, [&] { return without_later_steps(state, steps); }, path_);
  forget_descriptors(state, number_);
  if (!told) return told.error();
  take_changes(std::get<ArrayChanges>(told.value()));
  note_known_places();
  steps_ = steps;
  select_last_step();
  Result<std::string> sums = std::string();
  if (state.rank == 0) {
    // Unreadable checksums count as unknown, as when the file is opened.
    if (auto read = storage::read_sums(storage::sums_path(path_))) sums = std::move(read).value();
  }
  auto shared = told_by_rank_0(state, sums, "the remaining checksums");
  if (!shared) return shared.error();
  Status loaded = sums_.load(state, std::move(shared).value(), steps_, map_, arrays_);
  return loaded.ok() ? share_places(state) : loaded;
}

}  // namespace weir::aggregation

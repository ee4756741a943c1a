// Steps of a file that a stager stores (session_staging.hpp): rank 0 hands over the commit, and
// asks later what became of it. If a stager is lost, the ranks write the steps that follow.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "aggregation/array_changes.hpp"
#include "aggregation/step_file.hpp"
#include "checksums/file_state.hpp"
#include "formats/format.hpp"
#include "system/incomplete.hpp"

namespace weir::aggregation {
namespace {

// Told in place of a number of steps: the file has not got its name.
constexpr std::int64_t unnamed = -1;
// Files of a session of which a line says that ranks write their arrays.
constexpr std::size_t most_told_files = 16;

}  // namespace

std::shared_ptr<storage::OpenFiles> StepFile::staged_files(
    const CollectiveState& state, const topology::FileTargets& targets) const {
  if (!stages_arrays(state, targets)) return nullptr;
  return settings_.in_place ? state.staging->files_for({.at_once = true}) : state.staging->files();
}

std::function<std::shared_ptr<storage::OpenFiles>(transport::StagedHandling)> StepFile::encoder(
    const CollectiveState& state, const topology::FileTargets& targets) const {
  if (!stages_arrays(state, targets)) return nullptr;
  return [staging = state.staging.get()](transport::StagedHandling encoding) {
    return staging->files_for(std::move(encoding));
  };
}

// Files that are rewritten have no steps that could be committed later. An array by itself has
// none either, but nothing of it is published. A write that is durable when it returns cannot be
// handed over.
bool StepFile::is_staged(const CollectiveState& state) const {
  return state.staging != nullptr && writable_ && (settings_.in_place || !settings_.rewrite) &&
         settings_.durability != storage::StepDurability::operation;
}

// Where the caches of nodes are not coherent, two nodes must not write into one page, and stagers
// write whatever their ranks have. Such arrays are written by the ranks; the steps are still
// published by the stager.
bool StepFile::stages_arrays(const CollectiveState& state,
                             const topology::FileTargets& targets) const {
  return is_staged(state) && (targets.coherent_caches || !state.staging->is_on_other_nodes());
}

std::string StepFile::why_not_staged(const CollectiveState& state,
                                     const topology::FileTargets& targets) const {
  if (state.staging == nullptr || !writable_ || stages_arrays(state, targets)) return "";
  if (settings_.durability == storage::StepDurability::operation) {
    return "each write is to be durable when it returns (durability \"operation\")";
  }
  if (!is_staged(state)) return "the file was opened with `rewrite`, to be changed in place";
  return "nodes see each other's writes late on its file system, and stagers write whatever their "
         "ranks have";
}

void StepFile::tell_what_is_not_staged(CollectiveState& state) const {
  if (state.rank != 0 || state.told_not_staged.size() >= most_told_files) return;
  const auto is_left = [](const auto& one) { return !one->why_not_staged().empty(); };
  const auto first = std::ranges::find_if(arrays_, is_left);
  if (first == arrays_.end() || !state.told_not_staged.insert(path_).second) return;
  const auto others = std::count_if(first + 1, arrays_.end(), is_left);
  fmt::print(stderr, "weir: {}: the ranks write \"{}\"{} themselves, without a stager: {}{}\n",
             storage::printable(path_), storage::printable((*first)->name()),
             others == 0   ? ""
             : others == 1 ? " and another array"
                           : fmt::format(" and {} other arrays", others),
             (*first)->why_not_staged(),
             state.told_not_staged.size() == most_told_files
                 ? " (further files of the session are not named)"
                 : "");
}

// Called by rank 0, after all ranks have handed over what they wrote.
Status StepFile::hand_commit_over(CollectiveState& state) {
  transport::EnteredChunks chunks;
  if (are_tables_staged(state)) {
    chunks = {.step = chunk_step_,
              .format = format_,
              .steps = steps_ + 1,
              .has_leftovers = room_.has_leftovers};
  }
  const auto ticket = state.staging->stager().commit({.path = path_,
                                                      .durability = settings_.durability,
                                                      .names_sums = !published_ && sums_.are_kept(),
                                                      .seal = seal_,
                                                      .chunks = chunks,
                                                      .update = room_.update});
  if (!ticket) return ticket.error();
  ticket_ = ticket.value().ticket;
  state.staging->note(path_, *ticket_, steps_ + 1);
  if (!settings_.in_journal || ticket.value().in_journal) return {};
  // A step that has found no room in the journal is as safe when it is stored.
  const ranks::LifeSigns::During storing(state.group->life(), ranks::LifeSigns::What::storage);
  Status stored = state.staging->stager().wait(*ticket_, std::numeric_limits<double>::infinity());
  if (stored.ok()) note_stored(state);
  return stored;
}

bool StepFile::are_tables_staged(const CollectiveState& state) const {
  return has_chunk_tables_ && is_staged(state) && std::ranges::any_of(arrays_, [](const auto& one) {
           return one->has_chunk_table() && one->is_staged();
         });
}

void StepFile::note_late_places(CollectiveState& state) {
  known_steps_ = steps_ - 1;
  for (const auto& one : arrays_) {
    if (!one->has_chunk_table() || !one->is_written_by_all()) continue;
    one->set_late_places([this, &state] { return learn_places(state); });
  }
}

void StepFile::note_known_places() {
  if (!known_steps_) return;
  known_steps_.reset();
  for (const auto& one : arrays_) one->set_late_places(nullptr);
}

std::optional<storage::FileMap> StepFile::without_late_places() const {
  const auto is_late = [](const auto& one) {
    return !one->origin().grows && one->has_late_places();
  };
  if (std::ranges::none_of(arrays_, is_late)) return std::nullopt;
  storage::FileMap known;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (!is_late(arrays_[i])) known.arrays.push_back(map_.arrays[i]);
  }
  return known;
}

Status StepFile::learn_places(CollectiveState& state) {
  if (!known_steps_) return {};
  const auto find = [&]() -> Result<StepPlaces> {
    constexpr double for_ever = std::numeric_limits<double>::infinity();
    if (Status stored = wait_until_stored(state, for_ever); !stored.ok()) return stored.error();
    const auto now = storage::find_format(format_).value()->open(path_);
    if (!now) return now.error();
    auto changes = changes_to(map_, now.value(), *known_steps_, path_);
    if (!changes) return changes.error();
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (!arrays_[i]->has_late_places()) changes.value()[i] = storage::ArrayKept{};
    }
    return StepPlaces(std::move(changes).value());
  };
  const auto told = ask_for_places(state, {}, find, path_);
  if (!told) return told.error();
  take_changes(std::get<ArrayChanges>(told.value()));
  note_known_places();
  return share_places(state);
}

// Called by rank 0: the last step that ended is stored. What a commit without a stager remembers of
// the file is remembered, too.
void StepFile::note_stored(CollectiveState& state) {
  ticket_.reset();
  state.staging->note_stored(path_);
  first_room_ = {};
  writer_.note_version(path_);
  sums_.note_stored();
}

// Called by rank 0: waits until the last step that ended is stored.
Status StepFile::wait_until_stored(CollectiveState& state, double seconds) {
  if (!lost_.ok()) return lost_;
  if (!ticket_ || state.staging == nullptr) return {};
  const ranks::LifeSigns::During storing(state.group->life(), ranks::LifeSigns::What::storage);
  Status stored = state.staging->stager().wait(*ticket_, seconds);
  if (!stored.ok() && stored.error().code == ErrorCode::deadline) {
    return with_file(stored.error(), path_);
  }
  if (!stored.ok()) {
    ticket_.reset();
    Error error = with_file(stored.error(), path_);
    error.message = fmt::format(
        "step {} was handed to the stager and could not be stored ({}): open the file again to "
        "see its steps",
        steps_ - 1, error.message);
    lost_ = std::move(error);
    return lost_;
  }
  note_stored(state);
  return {};
}

Error StepFile::step_is_lost(std::int64_t step) const {
  return Error(ErrorCode::io,
               fmt::format("step {} was handed to a stager that was lost before it had stored it; "
                           "the ranks write the following steps, beginning with {}",
                           step, steps_),
               path_);
}

// The ranks of a session that has lost its stager write this file from now on, too. If the stager
// had not stored the last step, that step is dropped. A step that it did store although no rank was
// told that it had accepted it, is dropped as well, since the program begins it again.
Status StepFile::go_on_without_stager(CollectiveState& state) {
  if (Status left = leave_lost_stagers(state); !left.ok()) return left;
  // The lost bytes of an array by itself cannot be named: the array fails until it is opened again.
  if (!has_stager_ || settings_.in_place || state.staging != nullptr) return {};
  Result<std::string> found = std::string();
  if (state.rank == 0) {
    const Status again = writer_.take_again(state);
    const auto now = again.ok() ? steps_on_storage(path_) : again.error();
    found = now ? Result<std::string>(std::to_string(now.value().value_or(unnamed))) : now.error();
  }
  const auto told = told_by_rank_0(state, found, "which steps a lost stager has stored");
  if (!told) return told.error();
  const std::int64_t stored = std::stoll(told.value());
  has_stager_ = false;
  ticket_.reset();
  lost_ = {};
  writer_.leave_stager();
  for (const auto& one : arrays_) one->leave_stager();
  if (published_ && stored == unnamed) return take_back_first_step(state);
  if (state.rank == 0) {
    writer_.note_version(place());
    sums_.forget();
  }
  first_room_ = {};
  if (!published_ || in_step_) return {};
  if (!has_steps_ || stored == steps_) return learn_places(state);
  return drop_steps(state, std::min(stored, steps_));
}

// The first step is begun in the file that was laid out for it, and has not got its name.
Status StepFile::take_back_first_step(CollectiveState& state) {
  published_ = false;
  steps_ = 0;
  note_known_places();
  rename_files(storage::committed_path(path_), storage::incomplete_path(path_));
  room_ = std::exchange(first_room_, {});
  const auto again = [&]() -> Result<StepPlaces> {
    writer_.note_version(place());
    if (has_chunk_tables_) {
      // The file's index has the chunks of the lost attempt, and one that keeps its length keeps
      // its place (Format::enter_chunks()). So no new chunk may be written where an old one is.
      const auto file = storage::state_of_file(storage::incomplete_path(path_));
      if (!file || file->is_missing()) {
        return Error(ErrorCode::io, "the file of the first step is no longer there", path_);
      }
      room_.free_from = std::max(room_.free_from, file->bytes);
    }
    auto changes = changes_to(map_, room_.map, 0, path_);
    if (!changes) return changes.error();
    return StepPlaces(std::move(changes).value());
  };
  const auto told = ask_for_places(state, {}, again, path_);
  if (!told) return told.error();
  take_changes(std::get<ArrayChanges>(told.value()));
  if (Status shared = share_places(state); !shared.ok()) return shared;
  refuse_writing_between_steps();
  select_last_step();
  return give_places(state);
}

Status StepFile::wait_for_step(CollectiveState& state, double seconds) {
  const std::int64_t steps = steps_;
  if (Status gone_on = go_on_without_stager(state); !gone_on.ok()) return gone_on;
  Status stored = wait_once(state, seconds);
  if (!stored.ok() && stored.error().code != ErrorCode::deadline && has_stager_ && !state.broken) {
    // The stager may have been lost meanwhile.
    if (Status gone_on = go_on_without_stager(state); !gone_on.ok()) return gone_on;
    if (!has_stager_) stored = {};
  }
  if (steps_ < steps) return step_is_lost(steps - 1);
  return stored.ok() ? learn_places(state) : stored;
}

Status StepFile::wait_once(CollectiveState& state, double seconds) {
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
  const std::int64_t steps = steps_;
  if (Status gone_on = go_on_without_stager(state); !gone_on.ok()) return gone_on.error();
  if (steps_ < steps) return step_is_lost(steps - 1);
  Result<std::string> found = std::string();
  if (state.rank == 0) {
    Status stored = wait_until_stored(state, 0);
    const bool is_late = !stored.ok() && stored.error().code == ErrorCode::deadline;
    if (stored.ok()) found = std::string("stored");
    if (!stored.ok() && !is_late) found = stored.error();
  }
  const auto told = told_by_rank_0(state, found, "whether the step is stored");
  if (!told) return told.error();
  if (told.value().empty()) return false;
  if (Status learned = learn_places(state); !learned.ok()) return learned.error();
  return true;
}

}  // namespace weir::aggregation

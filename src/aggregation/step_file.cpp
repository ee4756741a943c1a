#include "aggregation/step_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "aggregation/layout_broadcast.hpp"
#include "aggregation/unwritten_arrays.hpp"
#include "checksums/sums_file.hpp"
#include "formats/drop_steps.hpp"
#include "formats/open_any.hpp"
#include "formats/raw/raw_format.hpp"
#include "system/incomplete.hpp"

namespace weir::aggregation {
namespace {

// The error for a file in which no array grows.
Error nothing_grows(const std::string& path, const std::string& format,
                    const storage::FileMap& map) {
  const auto found = storage::find_format(format);
  std::string why = "no array of the file has steps";
  if (found && !found.value()->abilities().records_growth) {
    why = fmt::format(
        "no array of the {} is marked as growing, because the format {} does not record which "
        "dimension is that of the steps",
        found.value()->abilities().is_folder ? "folder" : "file", format);
  }
  if (!map.refused.empty()) {
    const storage::RefusedArray& one = map.refused.front();
    why += " (array \"" + storage::printable(one.name) + "\" cannot be read: " + one.reason + ")";
  }
  return invalid_argument(
      why + ": define arrays that have steps, or convert the file with weir convert --steps ARRAY",
      path);
}

// Returns the description with the number of data files that was left open.
storage::FileDescription with_files(storage::FileDescription file, const CollectiveState& state) {
  if (file.in_place && file.in_place->files == 0) {
    file.in_place->files = file.in_place->layout == storage::FileLayout::shared ? 1
                           : file.in_place->layout == storage::FileLayout::per_aggregator
                               ? state.group->holders()
                               : state.ranks;
  }
  return file;
}

}  // namespace

Result<std::unique_ptr<StepFile>> StepFile::create(CollectiveState& state, const std::string& path,
                                                   const storage::FileDescription& description,
                                                   const FileSettings& settings) {
  if (Status left = leave_lost_stagers(state); !left.ok()) return left.error();
  Status possible;
  const auto format = storage::find_format(settings.format);
  if (!format) possible = with_file(format.error(), path);
  std::unique_ptr<StepFile> file(new StepFile(path, settings.format, settings, true, state.ranks));
  file->published_ = description.in_place.has_value();
  file->settings_.in_place = file->published_;
  const auto lay_out = [&]() -> Result<LayoutBroadcast> {
    const Status alone = file->begin_writing(state, storage::WriterLock::Naming::by_caller);
    if (!alone.ok()) return alone.error();
    auto room = state.known_layout.lay_out(*format.value(), with_files(description, state), path);
    if (!room) return room.error();
    file->room_ = std::move(room).value();
    if (file->published_) {
      const Status seen = storage::commit(path, file->room_.update, storage::StepDurability::none);
      if (!seen.ok()) return seen.error();
    }
    if (!file->published_)
      file->writer_.note_version(file->place());  // a file in place gets neither steps nor arrays
    LayoutBroadcast layout{.map = file->room_.map};
    look_up_storage(layout, file->room_.map, file->place());
    return layout;
  };
  auto told = ask_for_layout(state, possible, lay_out, path);
  if (!told) return told.error();
  file->map_ = std::move(told.value().map);
  file->has_stager_ = file->is_staged(state);
  file->open_arrays(state, told.value().targets);
  if (Status shared = file->share_places(state); !shared.ok()) return shared.error();
  file->writer_.name_holder();
  if (file->published_) {
    file->steps_ = 1;
    file->leave_step(true);
    return file;
  }
  if (Status given = file->give_places(state); !given.ok()) return given.error();
  file->enter_step(0);
  file->find_kinds(state);
  if (Status filled = file->write_fills(state); !filled.ok()) return filled.error();
  return file;
}

Result<std::unique_ptr<StepFile>> StepFile::open(CollectiveState& state, const std::string& path,
                                                 const FileSettings& settings, bool writable) {
  if (Status left = leave_lost_stagers(state); !left.ok()) return left.error();
  storage::WriterLock lock;
  storage::FileVersion version;
  const auto open = [&]() -> Result<LayoutBroadcast> {
    if (state.staging != nullptr) {
      // The session may have written the file, under this name or another of its names.
      if (Status before = state.staging->stager().drain(); !before.ok()) return before.error();
    }
    if (writable && settings.rewrite && !settings.in_place) {
      auto taken = storage::WriterLock::take(path);
      if (!taken) return taken.error();
      lock = std::move(taken).value();
      state.locks.add(lock, path);
    }
    auto opened =
        settings.in_place ? storage::open_in_place(path) : storage::open_within_limits(path);
    if (!opened) return opened.error();
    storage::OpenedFile& one = opened.value();
    version = std::move(one.version);
    // Unreadable checksums count as unknown: the file itself may be intact. `weir check` reports
    // them.
    auto sums = storage::read_sums(storage::sums_path(one.path));
    LayoutBroadcast layout;
    layout.format = one.format;
    if (sums) layout.sums = std::move(sums).value();
    look_up_storage(layout, one.map, one.path);
    layout.map = std::move(one.map);
    layout.path = std::move(one.path);
    return layout;
  };
  auto told = ask_for_layout(state, {}, open, path);
  if (!told) return told.error();
  std::unique_ptr<StepFile> file(new StepFile(std::move(told.value().path),
                                              std::move(told.value().format), settings, writable,
                                              state.ranks));
  file->writer_.hold(std::move(lock));
  file->writer_.set_version(std::move(version));
  file->has_stager_ = file->is_staged(state);
  file->map_ = std::move(told.value().map);
  file->open_arrays(state, told.value().targets);
  const auto steps = file->map_.steps();
  file->steps_ = steps.value_or(1);
  Status loaded = file->sums_.load(state, std::move(told.value().sums), file->steps_, file->map_,
                                   file->arrays_);
  if (loaded.ok()) loaded = file->share_places(state);
  if (!loaded.ok()) return loaded.error();
  file->leave_step(true);
  return file;
}

void StepFile::open_arrays(CollectiveState& state, const topology::FileTargets& targets) {
  number_ = ++state.arrays;
  while (arrays_.size() < map_.arrays.size()) open_array(state, targets);
  tell_what_is_not_staged(state);
}

void StepFile::open_array(CollectiveState& state, const topology::FileTargets& targets) {
  storage::StoredArray& one = map_.arrays[arrays_.size()];
  has_steps_ = has_steps_ || one.description.grows;
  has_chunk_tables_ = has_chunk_tables_ || chunk_table_of(one.map) != nullptr;
  arrays_.push_back(std::make_unique<OpenArray>(
      ArrayOrigin{.number = ++state.arrays,
                  .grows = one.description.grows,
                  .writable = writable_,
                  .sync_each = settings_.durability == storage::StepDurability::operation,
                  .staged = staged_files(state, targets),
                  .not_staged = why_not_staged(state, targets),
                  .at_once = settings_.in_place,
                  .to_encode = encoder(state, targets),
                  .targets = targets,
                  .path = path_,
                  .name = one.description.name,
                  .fill = one.description.fill,
                  .file_number = number_,
                  .descriptors = state.group->descriptors(),
                  .closing = closing(),
                  .account = settings_.in_place ? nullptr : account_},
      one.map, state.engines));
  if (!settings_.in_place || !writable_ || format_ != "raw" || state.rank != 0) return;
  // A program that made the file earlier may not have made its names durable.
  arrays_.back()->set_names(
      [files = one.map.files, path = path_] { return storage::sync_raw_names(path, files); });
}

storage::DataFileCache::Closing StepFile::closing() const {
  using Closing = storage::DataFileCache::Closing;
  return settings_.durability == storage::StepDurability::none ? Closing::leaves_to_sync
                                                               : Closing::makes_durable;
}

// Assigns kinds, so that requests need not compare neighbouring arrays.
void StepFile::find_kinds(CollectiveState& state) {
  const OpenArray* before = nullptr;
  for (const auto& one : arrays_) {
    one->set_kind(before != nullptr && one->is_alike(*before) ? before->kind() : ++state.kinds);
    before = one.get();
  }
}

void StepFile::refuse_writing_between_steps() {
  for (const auto& one : arrays_) {
    if (settings_.rewrite && !one->origin().grows) continue;
    one->refuse_writing(
        is_of_step(*one) ? "no step has begun: begin one, write, and end it"
                         : "it has no steps, so it can be written only in the file's first step, "
                           "which has ended; to write it in place open the file with `rewrite`");
  }
}

void StepFile::enter_step(std::int64_t step) {
  in_step_ = true;
  unwritten_.clear();
  account_->begin_step();
  collect_sums(true);
  for (const auto& one : arrays_) {
    one->forget_failure();
    if (one->origin().grows) {
      one->select_step(step);
      one->refuse_writing("");
    } else if (is_of_step(*one)) {
      one->refuse_writing("");
    }
  }
}

void StepFile::leave_step(bool is_committed) {
  in_step_ = false;
  if (is_committed) added_.clear();
  for (const auto& one : arrays_) one->leave_step(is_committed);
  collect_sums(false);
  // The first step keeps its room until it is committed, since its places are not given again.
  if (published_) {
    room_ = {};
    for (const auto& one : arrays_) one->give_places({});
  }
  refuse_writing_between_steps();
  select_last_step();
}

void StepFile::select_last_step() {
  for (const auto& one : arrays_) {
    if (!one->origin().grows) continue;
    one->select_step(steps_ > 0 ? std::optional(steps_ - 1) : std::nullopt);
  }
}

Status StepFile::select_step(std::int64_t step) {
  if (in_step_) {
    return invalid_argument("a step has begun: end it before another is selected", path_);
  }
  if (!has_steps_) {
    return invalid_argument("no array of the file has steps: there is no step to select", path_);
  }
  if (step < 0 || step >= steps_) {
    return invalid_argument(
        fmt::format("step {}: the file has {} steps, numbered from 0", step, steps_), path_);
  }
  for (const auto& one : arrays_) {
    if (one->origin().grows) one->select_step(step);
  }
  return {};
}

void StepFile::take_change(std::size_t array, const storage::ArrayChange& change) {
  storage::StoredArray& ours = map_.arrays[array];
  storage::apply(change, ours.map);
  ours.description.shape = ours.map.shape;
  arrays_[array]->set_map(ours.map);
}

void StepFile::take_changes(const ArrayChanges& changes) {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (!std::holds_alternative<storage::ArrayKept>(changes[i])) take_change(i, changes[i]);
  }
}

// Called on all ranks when the file has got another name.
void StepFile::rename_files(const std::string& from, const std::string& to) {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    storage::ExtentMap& map = map_.arrays[i].map;
    map.files = map.files.renamed(from, to);
    arrays_[i]->set_map(map);
  }
}

void StepFile::lengthen_arrays(std::int64_t steps) {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (map_.arrays[i].description.grows) take_change(i, storage::ArrayGrown{.steps = steps});
  }
}

// Called by rank 0 after a first commit that failed. The step cannot be tried again if readers may
// see the file, or if the header, which was written when the file was created, may be lost with
// other bytes.
Status StepFile::can_be_tried_again() const {
  const bool hidden =
      storage::is_on_disk(storage::incomplete_path(path_)) && !storage::is_seen_unrenamed(path_);
  if (!hidden) {
    return invalid_argument(
        "its first commit failed after a part of it, and readers may see the file already: close "
        "it and check it before you open or create it again",
        path_);
  }
  if (!has_lost_header_) return {};
  return invalid_argument(
      "its first step could not be made durable, and the contents of the file may be lost: close "
      "it and create it again",
      path_);
}

// Called by rank 0 before it changes the file: from then on no other run may write to it, and
// everything that a stager has of it is stored, since a change begins with reading the header.
Status StepFile::begin_writing(CollectiveState& state, storage::WriterLock::Naming naming) {
  Status stored = wait_until_stored(state, std::numeric_limits<double>::infinity());
  return stored.ok() ? writer_.take(state, is_staged(state), naming) : stored;
}

// Called by rank 0: makes room for one more step and returns the changes.
Result<StepPlaces> StepFile::room_for_step(CollectiveState& state) {
  if (Status alone = begin_writing(state); !alone.ok()) return alone.error();
  if (Status unchanged = writer_.check_is_unchanged(published_); !unchanged.ok())
    return unchanged.error();
  if (!published_) {
    if (Status again = can_be_tried_again(); !again.ok()) return again.error();
    return StepPlaces(FirstStepPlaces{});
  }
  if (Status finished = storage::finish_drop(path_, settings_.durability); !finished.ok()) {
    return finished.error();
  }
  const std::int64_t known_steps = known_steps_.value_or(steps_);
  const auto without_late = without_late_places();
  auto room = storage::find_format(format_).value()->make_room_behind(
      path_, steps_ + 1, without_late ? *without_late : map_, known_steps);
  writer_.note_version(place());  // making room may have finished an operation of a killed run
  if (!room) return room.error();
  auto changes = changes_to(map_, room.value().map, known_steps, path_);
  if (!changes) return changes.error();
  if (Status cut = sums_.cut(steps_); !cut.ok()) return cut.error();
  room_ = std::move(room).value();
  if (are_only_longer(changes.value(), steps_ + 1)) return StepPlaces(OneStepLonger{});
  return StepPlaces(std::move(changes).value());
}

Status StepFile::begin_step(CollectiveState& state) {
  if (Status gone_on = go_on_without_stager(state); !gone_on.ok()) return gone_on;
  Status possible;
  if (!writable_)
    possible = invalid_argument("the file is open read-only: open it for writing", path_);
  if (in_step_) possible = invalid_argument("a step has already begun: end it first", path_);
  if (possible.ok() && published_ && !has_steps_) {
    possible = nothing_grows(path_, format_, map_);
  }
  auto told = ask_for_places(
      state, possible, [&] { return room_for_step(state); }, path_);
  if (!told && possible.ok() && has_stager_ && !state.broken) {
    // The stager may have been lost while rank 0 waited for the step before.
    if (Status gone_on = go_on_without_stager(state); !gone_on.ok()) return gone_on;
    if (!has_stager_) {
      told = ask_for_places(
          state, possible, [&] { return room_for_step(state); }, path_);
    }
  }
  if (!told) return told.error();
  if (std::holds_alternative<FirstStepPlaces>(told.value())) {
    enter_step(0);
    find_kinds(state);
    return write_fills(state);
  }
  if (const auto* const changes = std::get_if<ArrayChanges>(&told.value())) {
    take_changes(*changes);
    if (Status shared = share_places(state); !shared.ok()) return shared;
  } else {
    lengthen_arrays(steps_ + 1);
  }
  note_known_places();
  if (Status given = give_places(state); !given.ok()) return given;
  enter_step(steps_);
  find_kinds(state);
  return write_fills(state);
}

// Arrays that do not grow are written in one step only: the first step in which they exist.
void StepFile::collect_sums(bool in_step) {
  for (const auto& one : arrays_) sums_.collect(*one, in_step && is_of_step(*one));
}

// Called by rank 0.
Status StepFile::commit(CollectiveState& state, WrittenChunks& chunks, const StepSums::Runs& sums) {
  if (Status unchanged = writer_.check_is_unchanged(published_); !unchanged.ok()) return unchanged;
  Status entered = sums_.enter(steps_ + 1, sums, published_);
  if (entered.ok() && has_chunk_tables_ && !are_tables_staged(state)) {
    entered =
        chunks.enter(*storage::find_format(format_).value(), path_, state.ranks, steps_ + 1, room_);
  }
  if (!entered.ok()) return entered;
  if (is_staged(state)) return hand_commit_over(state);
  Status done = storage::commit(path_, room_.update, settings_.durability);
  writer_.note_version(published_ || done.ok() ? path_ : storage::incomplete_path(path_));
  if (done.ok()) sums_.note_commit(published_);
  return done;
}

// Makes durable what this rank wrote.
Status StepFile::written_durably(const storage::SyncedHere& synced_here) {
  if (settings_.durability == storage::StepDurability::none) return {};
  for (const auto& one : arrays_) {
    if (Status synced = one->sync(synced_here); !synced.ok()) return synced;
  }
  return {};
}

Status StepFile::end_own_step(CollectiveState& state) {
  const storage::SyncedHere synced_here = begin_sync(state);
  Status possible;
  if (!in_step_) possible = invalid_argument("no step has begun", path_);
  const auto failed = std::find_if(arrays_.begin(), arrays_.end(),
                                   [](const auto& one) { return one->has_failed(); });
  const bool incomplete = failed != arrays_.end();
  if (possible.ok() && has_stager_ && state.staging == nullptr) {
    possible = invalid_argument(
        fmt::format("step {} is not committed, because a stager was lost that had a part of it: "
                    "begin it again",
                    steps_),
        path_);
  }
  if (possible.ok() && incomplete) {
    possible = invalid_argument(
        fmt::format("step {} is not committed, because writing \"{}\" failed: begin it again",
                    steps_, (*failed)->name()),
        path_);
  }
  const auto left = std::find_if(arrays_.begin(), arrays_.end(),
                                 [](const auto& one) { return one->is_to_be_written_again(); });
  if (possible.ok() && left != arrays_.end()) {
    possible = invalid_argument(fmt::format("step {} is not committed: its end failed once, and "
                                            "\"{}\" has not been written again since then",
                                            steps_, (*left)->name()),
                                path_);
  }
  if (possible.ok()) possible = written_durably(synced_here);
  // The files are used under their new names from now on. They are closed before the commit, so
  // that all ranks return the error of a rank that cannot close them.
  if (possible.ok() && !published_) possible = close_files(arrays_);
  return possible;
}

// The vote asked rank 0, whose answer is the commit. Where the ranks have to meet before it, the
// question is given up by the first call in which they do.
Status StepFile::end_step(CollectiveState& state, const Status& voted) {
  const bool enters_chunks = has_chunk_tables_ && !are_tables_staged(state);
  Status agreed = voted;
  learn_losses(state, agreed);
  const bool seals = is_staged(state) && state.staging->has_several();
  seal_ = seals ? state.staging->next_seal() : 0;
  WrittenChunks chunks(map_, arrays_);
  if (agreed.ok() && (seals || enters_chunks)) {
    const std::uint64_t staged_chunks = are_tables_staged(state) ? chunk_step_ : 0;
    Status own = seals ? state.staging->seal(seal_, settings_.durability, staged_chunks) : Status();
    if (own.ok() && enters_chunks) own = chunks.take_own();
    agreed = agree_on(state, own);
  }
  UnwrittenArrays unwritten(arrays_, !published_);
  if (agreed.ok() && (sums_.are_kept() || !unwritten.numbers().empty())) release_asked(state);
  if (agreed.ok()) agreed = unwritten.gather(state);
  StepSums::Runs sums;
  if (agreed.ok() && enters_chunks) agreed = chunks.gather(state);
  if (agreed.ok()) {
    agreed = sums_.gather(state, map_, arrays_, published_, is_staged(state), sums);
  }
  if (agreed.ok()) {
    Result<std::string> committed = unwritten.message();
    if (state.rank == 0) {
      Status done;
      if (settings_.unwritten == Unwritten::is_error) done = unwritten.check(arrays_, steps_);
      if (done.ok()) done = commit(state, chunks, sums);
      if (!done.ok()) committed = with_file(done.error(), path_);
    }
    const auto told = told_by_rank_0(state, committed, "the commit");
    if (told) {
      unwritten.take(told.value());
    } else {
      agreed = told.error();
    }
  }
  if (!agreed.ok()) {
    has_lost_header_ = has_lost_header_ || (!published_ && tells_of_loss(agreed.error()));
    if (in_step_) leave_step(false);
    // What was handed over must be written before what the next attempt hands over.
    if (is_staged(state) && !state.broken) (void)state.staging->settle(state);
    // This rank may have received descriptors of files that it did not open. The next attempt may
    // create other files.
    forget_descriptors(state, number_);
    return agreed;
  }
  if (!published_) {
    if (is_staged(state) && state.settings.staging_lost == StagingLost::direct) first_room_ = room_;
    published_ = true;
    rename_files(storage::incomplete_path(path_), storage::committed_path(path_));
  }
  ++steps_;
  unwritten_ = unwritten.numbers();
  if (has_chunk_tables_ && !enters_chunks) note_late_places(state);
  leave_step(true);
  return enters_chunks ? chunks.tell(state) : Status();
}

Status StepFile::give_places(CollectiveState& state) {
  if (!has_chunk_tables_) return {};
  chunk_step_ = ++state.chunk_steps;
  return aggregation::give_places(state, arrays_, path_, room_.free_from, chunk_step_);
}

Status StepFile::share_places(CollectiveState& state) {
  return aggregation::share_places(state, map_, arrays_);
}

// Called by rank 0 after all ranks have stopped writing.
Status StepFile::clear_step() {
  if (published_) {
    if (Status unchanged = writer_.check_is_unchanged(published_); !unchanged.ok())
      return unchanged;
    Status cleared = storage::find_format(format_).value()->clear_unfinished(path_, steps_);
    writer_.note_version(place());
    return cleared;
  }
  storage::remove_incomplete(path_);
  writer_.release();
  return {};
}

Status StepFile::abort_step(CollectiveState& state) {
  if (Status gone_on = go_on_without_stager(state); !gone_on.ok()) return gone_on;
  Status possible;
  if (!in_step_) possible = invalid_argument("no step has begun", path_);
  // Nothing of the step may be written after it is cleared.
  if (possible.ok() && is_staged(state)) possible = state.staging->stager().drain();
  // A folder is removed only when no rank has files in it open. Errors in closing are ignored.
  if (in_step_ && !published_) (void)close_files(arrays_);
  Status agreed = agree_on(state, possible);
  if (!agreed.ok()) return agreed;
  leave_step(false);
  for (const auto& one : arrays_) one->forget_step();
  forget_descriptors(state, number_);
  Result<std::string> cleared = std::string();
  if (state.rank == 0) {
    if (Status done = clear_step(); !done.ok()) cleared = with_file(done.error(), path_);
  }
  const auto told = told_by_rank_0(state, cleared, "the remains of the step");
  return told ? Status() : told.error();
}

Status StepFile::close(CollectiveState& state) {
  const std::int64_t steps = steps_;
  Status closed = go_on_without_stager(state);
  if (closed.ok() && steps_ < steps) closed = step_is_lost(steps - 1);
  const Status own = close_own_part(state);
  Status agreed = agree_on(state, closed.ok() ? own : closed);
  writer_.release();  // no rank writes to the file any more
  return agreed;
}

Status StepFile::close_own_part(CollectiveState& state) {
  Status first;
  const bool was_in_step = in_step_;
  if (in_step_) {
    first = invalid_argument(
        fmt::format("step {} has begun and not ended, so it is not committed", steps_), path_);
    leave_step(false);
  }
  for (const auto& one : arrays_) one->set_closed();
  Status closed = close_files(arrays_);
  if (first.ok()) first = std::move(closed);
  forget_descriptors(state, number_);
  const bool writes_alone =
      settings_.in_place && has_stager_ && !arrays_.empty() && arrays_.front()->is_staged();
  if (writes_alone && !state.broken) {
    Status handed =
        state.staging == nullptr ? array_is_lost(path_) : state.staging->close_array(state, path_);
    if (first.ok()) first = std::move(handed);
  }
  if (state.group->own_place() == 0 && is_staged(state)) {
    transport::StagerClient& stager = state.staging->stager();
    if (first.ok() && ticket_) {  // on rank 0
      const auto stored = stager.is_done(*ticket_);
      // Where the session goes on without a lost stager, its next call says what became of it.
      const bool goes_on = state.settings.staging_lost == StagingLost::direct;
      if (!stored && !goes_on) first = with_file(stored.error(), path_);
    }
    // Bytes of a step that has not ended must not reach a file that gets this name later.
    if (was_in_step) (void)stager.drain();
  }
  return first;
}

}  // namespace weir::aggregation

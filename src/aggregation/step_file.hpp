// A file of a standard format with its arrays and steps, opened by a Collective.
//
// clang-format off
//   create ─► in a step ─► end_step ─► between steps ─► begin_step ─► in a step ─► …
//                 │           │                            ▲
//                 └── fails ──┴──► between steps, nothing committed
//                 └── abort_step ──► between steps, nothing committed and nothing left in the file;
//                                    a file in its first step is gone
// clang-format on
//
// Only rank 0 calls the format: it lays out the file, makes room for a step, and commits the step
// when the bytes of all ranks are written (and durable, if requested). The other ranks need to know
// where the arrays' bytes are, and rank 0 sends them that as a value. No rank opens a file before
// it moves bytes, so only aggregators open files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregation/array_changes.hpp"
#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/layout_broadcast.hpp"
#include "aggregation/sole_writer.hpp"
#include "aggregation/step_sums.hpp"
#include "aggregation/written_chunks.hpp"
#include "formats/format.hpp"
#include "formats/writer_lock.hpp"
#include "system/incomplete.hpp"

namespace weir::aggregation {

// Must not outlive its Collective; its arrays must not outlive it.
class StepFile {
 public:
  StepFile(const StepFile&) = delete;
  StepFile& operator=(const StepFile&) = delete;
  ~StepFile() { writer_.release(); }

  // Collective, like all functions below that take the state; they are parts of a call whose turn
  // it is (collective.hpp). The created file is in its first step.
  static Result<std::unique_ptr<StepFile>> create(CollectiveState& state, const std::string& path,
                                                  const storage::FileDescription& description,
                                                  const FileSettings& settings);
  // The file's content determines the format; settings.format has no effect.
  static Result<std::unique_ptr<StepFile>> open(CollectiveState& state, const std::string& path,
                                                const FileSettings& settings, bool writable);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& format() const { return format_; }
  [[nodiscard]] bool writable() const { return writable_; }
  // Returns descriptions, attributes and the names of what cannot be read, in the order of array().
  [[nodiscard]] const storage::FileMap& map() const { return map_; }
  [[nodiscard]] std::int64_t arrays() const { return static_cast<std::int64_t>(arrays_.size()); }
  [[nodiscard]] OpenArray& array(std::int64_t number) {
    return *arrays_[static_cast<std::size_t>(number)];
  }
  // Returns the number of committed steps. If no array grows, it is 1, or 0 before the first step
  // has ended.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] bool in_step() const { return in_step_; }
  // Returns whether readers see the file: its first step has ended, or it was opened.
  [[nodiscard]] bool is_published() const { return published_; }
  // Returns the numbers of the arrays that no rank wrote in the last step that ended, in order;
  // none after another step has begun. The result is equal on all ranks.
  [[nodiscard]] const std::vector<std::int64_t>& unwritten() const { return unwritten_; }
  // Selects the step that requests move for arrays that grow, between steps; initially it is the
  // last one. The call is local, but all ranks must have selected the same step when a request
  // begins.
  Status select_step(std::int64_t step);

  Status begin_step(CollectiveState& state);
  // Does this rank's part of the end of a step. The call is local, but all ranks make it, and then
  // vote with its outcome and with what unstored() returns.
  Status end_own_step(CollectiveState& state);
  [[nodiscard]] std::int64_t unstored() const { return account_->unstored(); }
  // `voted`: the outcome of that vote.
  Status end_step(CollectiveState& state, const Status& voted);
  Status wait_for_step(CollectiveState& state, double seconds);
  Result<bool> is_step_stored(CollectiveState& state);
  Status abort_step(CollectiveState& state);
  Status drop_steps(CollectiveState& state, std::int64_t steps);
  Status extend(CollectiveState& state, const storage::Additions& added);
  Status close(CollectiveState& state);
  // Closes the file on this rank. The call is local, but all ranks have to make it, and then vote
  // with its outcome. Until then the lock of writers is held; the destructor gives it up.
  Status close_own_part(CollectiveState& state);

 private:
  StepFile(std::string path, std::string format, const FileSettings& settings, bool writable,
           int ranks)
      : path_(std::move(path)),
        format_(std::move(format)),
        settings_(settings),
        writable_(writable),
        sums_(path_, settings, writable, ranks),
        writer_(path_) {}

  void open_arrays(CollectiveState& state, const topology::FileTargets& targets);
  // Opens the array of map_ that is not open yet.
  void open_array(CollectiveState& state, const topology::FileTargets& targets);
  [[nodiscard]] Status may_be_extended() const;
  Result<LayoutBroadcast> added_layout(CollectiveState& state, const storage::Additions& added);
  Status take_added(CollectiveState& state, const storage::Additions& added, LayoutBroadcast told);
  // Returns whether the array may be written in a step that begins.
  [[nodiscard]] bool is_of_step(const OpenArray& array) const {
    return array.origin().grows || !published_ || added_.contains(array.number());
  }
  void take_change(std::size_t array, const storage::ArrayChange& change);
  void take_changes(const ArrayChanges& changes);
  void rename_files(const std::string& from, const std::string& to);
  void lengthen_arrays(std::int64_t steps);
  // Arrays that do not grow belong to the first step: a later change would change committed steps.
  void refuse_writing_between_steps();
  [[nodiscard]] Status can_be_tried_again() const;
  // Returns where the file is: at its path, or under its unfinished name.
  [[nodiscard]] std::string place() const {
    return published_ ? path_ : storage::incomplete_path(path_);
  }
  [[nodiscard]] Status begin_writing(
      CollectiveState& state,
      storage::WriterLock::Naming naming = storage::WriterLock::Naming::at_once);
  Result<StepPlaces> room_for_step(CollectiveState& state);
  void enter_step(std::int64_t step);
  void find_kinds(CollectiveState& state);
  void leave_step(bool is_committed);
  [[nodiscard]] Status clear_step();
  void select_last_step();
  [[nodiscard]] Status may_keep(std::int64_t steps) const;
  Result<StepPlaces> without_later_steps(CollectiveState& state, std::int64_t steps);
  [[nodiscard]] Status written_durably(const storage::SyncedHere& synced_here);
  // Collective. Say where this rank writes encoded chunks of the step that begins, and share the
  // places that all ranks know (written_chunks.hpp).
  Status give_places(CollectiveState& state);
  Status share_places(CollectiveState& state);
  // Collective (step_file_fill.cpp). Writes the fill value to arrays whose fill value is not zeros,
  // in the step that has begun; if this fails, the step has not begun.
  Status write_fills(CollectiveState& state);
  [[nodiscard]] Status write_own_fills(const CollectiveState& state) const;
  [[nodiscard]] storage::DataFileCache::Closing closing() const;
  // Return ArrayOrigin::staged and ArrayOrigin::to_encode.
  [[nodiscard]] std::shared_ptr<storage::OpenFiles> staged_files(
      const CollectiveState& state, const topology::FileTargets& targets) const;
  [[nodiscard]] std::function<std::shared_ptr<storage::OpenFiles>(transport::StagedHandling)>
  encoder(const CollectiveState& state, const topology::FileTargets& targets) const;
  void collect_sums(bool in_step);
  [[nodiscard]] Status commit(CollectiveState& state, WrittenChunks& chunks,
                              const StepSums::Runs& sums);
  // Steps that a stager stores (step_file_staging.cpp).
  [[nodiscard]] bool is_staged(const CollectiveState& state) const;
  [[nodiscard]] bool stages_arrays(const CollectiveState& state,
                                   const topology::FileTargets& targets) const;
  // Returns ArrayOrigin::not_staged.
  [[nodiscard]] std::string why_not_staged(const CollectiveState& state,
                                           const topology::FileTargets& targets) const;
  // Tells people, once for the file, which arrays of a staged session the ranks write.
  void tell_what_is_not_staged(CollectiveState& state) const;
  [[nodiscard]] Status hand_commit_over(CollectiveState& state);
  // Returns whether a stager encodes the chunks whose places are in tables.
  [[nodiscard]] bool are_tables_staged(const CollectiveState& state) const;
  // Called on all ranks at the end of a step in which a stager encodes such chunks.
  void note_late_places(CollectiveState& state);
  void note_known_places();
  // Collective. Waits until the last step is stored, and learns where a stager has put its chunks.
  [[nodiscard]] Status learn_places(CollectiveState& state);
  // Returns the map without the arrays that do not grow and whose places are late; nothing if there
  // are none.
  [[nodiscard]] std::optional<storage::FileMap> without_late_places() const;
  [[nodiscard]] Status wait_until_stored(CollectiveState& state, double seconds);
  void note_stored(CollectiveState& state);
  // Collective. Called at the begin of a call: if the session has lost a stager and goes on without
  // it (session_staging.hpp), the ranks write this file, behind the last step that is stored.
  Status go_on_without_stager(CollectiveState& state);
  [[nodiscard]] Status take_back_first_step(CollectiveState& state);
  [[nodiscard]] Error step_is_lost(std::int64_t step) const;
  Status wait_once(CollectiveState& state, double seconds);

  std::string path_;
  std::string format_;
  FileSettings settings_;
  bool writable_;
  storage::FileMap map_;
  std::vector<std::unique_ptr<OpenArray>> arrays_;
  std::uint64_t number_ = 0;
  bool has_steps_ = false;  // whether an array grows
  // Numbers of the added arrays without steps that were not yet written in a step that has ended.
  std::set<std::uint64_t> added_;
  bool published_ = true;         // the file has its name
  bool has_lost_header_ = false;  // the layout written for its first step may be lost
  std::int64_t steps_ = 0;        // number of committed steps
  const std::shared_ptr<StepAccount> account_ = std::make_shared<StepAccount>();
  bool in_step_ = false;
  bool has_chunk_tables_ = false;  // of encoded chunks; a commit changes them
  std::uint64_t chunk_step_ = 0;   // with tables: the number of the step in which chunks get places
  // The number of steps the places of whose chunks all ranks know, if a stager has encoded later
  // ones.
  std::optional<std::int64_t> known_steps_;
  StepSums sums_;
  std::vector<std::int64_t> unwritten_;  // numbers of arrays, in the last step that ended
  storage::Room room_;                   // on rank 0: the means to commit the step
  // The lock is held from the first step that this run begins until the file is closed.
  SoleWriter writer_;
  // On rank 0: the ticket of the last step that a stager has accepted and may not have stored yet.
  std::optional<std::uint64_t> ticket_;
  std::uint64_t seal_ = 0;   // of the last step that ended, if it was staged
  Status lost_;              // on rank 0: why a stager could not store a step
  bool has_stager_ = false;  // the steps that end are handed over
  // On rank 0: what the first step needs to be written again, until it is known to be stored.
  storage::Room first_room_;
};

}  // namespace weir::aggregation
